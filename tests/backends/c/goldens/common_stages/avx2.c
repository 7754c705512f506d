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
      {
        __attribute__((unused)) floatx8 r3_0;
        r3_0 = 0.0f - (floatx8){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          r3_0 = r3_0 + *(const floatx8*)&b0[i4 * 8 + i1 * 8];
        }
        t2[0] = t2[0] + r2r_across_sum_floatx8(r3_0);
      }
      b1[i1] = t2[0];
    }
  }
}

void r2r_stage_2(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_APART
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = -0x1.fffffe0000000p+127f;
      {
        __attribute__((unused)) floatx8 r3_0;
        r3_0 = -0x1.fffffe0000000p+127f - (floatx8){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          r3_0 = r2r_max_floatx8(*(const floatx8*)&b0[i4 * 8 + i1 * 8], r3_0);
        }
        t2[0] = r2r_max_float(r2r_across_max_floatx8(r3_0), t2[0]);
      }
      b1[i1] = isnan(b0[i1 * 8 + 7]) ? b0[i1 * 8 + 7] : t2[0];
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
