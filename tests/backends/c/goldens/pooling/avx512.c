void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 48; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      {
        float t3[1] __attribute__((aligned(64), unused));
        t3[0] = -0x1.fffffe0000000p+127f;
        for (int64_t i4 = 0; i4 < 2; ++i4) {
          for (int64_t i5 = 0; i5 < 2; ++i5) {
            t3[0] = r2r_max_float(t3[0], b0[i1 * 12 + i2 * 2 + i4 * 6 + i5]);
          }
        }
        b1[i1 * 3 + i2] = t3[0];
      }
    }
  }
}

void r2r_stage_1(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = 0.0f;
      {
        __attribute__((unused)) floatx16 r3_0;
        r3_0 = 0.0f - (floatx16){0};
        for (int64_t i4 = 0; i4 < 2; ++i4) {
          r3_0 = r3_0 + *(const floatx16*)&b0[i4 * 16 + i1 * 36];
        }
        for (int64_t i5 = 0; i5 < 4; ++i5) {
          t2[0] = t2[0] + b0[i5 + i1 * 36 + 32];
        }
        t2[0] = t2[0] + r2r_across_sum_floatx16(r3_0);
      }
      b1[i1] = t2[0] / 36.0f;
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, float* restrict b1);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], a[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1(a[0], a[2]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
