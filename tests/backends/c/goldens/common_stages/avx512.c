void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 24; ++i1) {
    b1[i1] = r2r_expf(b0[i1]);
  }
}

void r2r_stage_1(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = 0.0f;
      for (int64_t i3 = 0; i3 < 8; ++i3) {
        t2[0] = t2[0] + b0[i1 * 8 + i3];
      }
      b1[i1] = t2[0];
    }
  }
}

void r2r_stage_2(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = -0x1.fffffe0000000p+127f;
      for (int64_t i3 = 0; i3 < 8; ++i3) {
        t2[0] = r2r_max_float(t2[0], b0[i1 * 8 + i3]);
      }
      b1[i1] = t2[0];
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, float* restrict b1);

void r2r_stage_2(const float* restrict b0, float* restrict b1);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)a[3] + 0), a[1]);
  if (t) r2r_lap(t, t + 2);
  r2r_stage_2((void*)((char*)a[3] + 0), a[2]);
  if (t) r2r_lap(t, t + 3);
  return 0;
}
