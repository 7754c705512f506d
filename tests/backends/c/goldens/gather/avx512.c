void r2r_stage_0(float* restrict b0, const int32_t* restrict b1, const float* restrict b2) {
  for (int64_t i1 = 0; i1 < 5; ++i1) {
    *(floatx4*)&b0[i1 * 4] = r2r_max_floatx4(*(const floatx4*)&b2[r2r_max_int64_t(0, r2r_min_int64_t(8, (int64_t)b1[i1])) * 4], 0.0f - (floatx4){0});
  }
}

// The next file.
void r2r_stage_0(float* restrict b0, const int32_t* restrict b1, const float* restrict b2);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[2], a[1], a[0]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
