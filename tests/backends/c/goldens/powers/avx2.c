void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 35; ++i1) {
    b2[i1] = b0[i1] * b0[i1] * b0[i1] + sqrtf(b1[i1] * b1[i1]);
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], a[1], a[2]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
