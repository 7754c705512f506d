void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 24; ++i1) {
    b1[i1] = r2r_expf(b0[i1]);
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  {
    float t1[16] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx8 r2_0, r2_1;
      r2_0 = 0.0f - (floatx8){0};
      r2_1 = 0.0f - (floatx8){0};
      {
        __attribute__((unused)) floatx8 r3_0;
        for (int64_t i4 = 0; i4 < 12; ++i4) {
          __builtin_prefetch(&b0[i4 * 8 + 1024]);
          r3_0 = *(const floatx8*)&b0[i4 * 8];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 12] * r3_0;
        }
      }
      *(floatx8*)&t1[0] = r2_0;
      *(floatx8*)&t1[8] = r2_1;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 2; ++i5) {
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 6; ++i6) {
        b2[i6 + i5 * 6] = r2r_max_float(t1[i6 + i5 * 8], 0.0f);
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 12; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      b0[i2 + i1 * 8] = i2 < 6 ? b1[i2 * 12 + i1] : 0.0f;
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[2] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)k[0] + 0), (void*)((char*)a[2] + 0), a[1]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_2((void*)((char*)k[1] + 0), k[0]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
