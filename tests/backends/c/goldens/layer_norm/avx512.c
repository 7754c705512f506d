void r2r_stage_0(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    {
      float t2[1] __attribute__((aligned(64), unused));
      {
        float t3[1] __attribute__((aligned(64), unused));
        {
          float t4[1] __attribute__((aligned(64), unused));
          t4[0] = 0.0f;
          {
            __attribute__((unused)) floatx16 r5_0;
            r5_0 = 0.0f - (floatx16){0};
            for (int64_t i6 = 0; i6 < 2; ++i6) {
              r5_0 = r5_0 + *(const floatx16*)&b0[i6 * 16 + i1 * 40];
            }
            for (int64_t i7 = 0; i7 < 8; ++i7) {
              t4[0] = t4[0] + b0[i7 + i1 * 40 + 32];
            }
            t4[0] = t4[0] + r2r_across_sum_floatx16(r5_0);
          }
          t3[0] = t4[0] / 40.0f;
        }
        {
          float t8[1] __attribute__((aligned(64), unused));
          t8[0] = 0.0f;
          {
            __attribute__((unused)) floatx16 r9_0;
            r9_0 = 0.0f - (floatx16){0};
            for (int64_t i10 = 0; i10 < 2; ++i10) {
              r9_0 = r9_0 + (*(const floatx16*)&b0[i10 * 16 + i1 * 40] - t3[0]) * (*(const floatx16*)&b0[i10 * 16 + i1 * 40] - t3[0]);
            }
            for (int64_t i11 = 0; i11 < 8; ++i11) {
              t8[0] = t8[0] + (b0[i11 + i1 * 40 + 32] - t3[0]) * (b0[i11 + i1 * 40 + 32] - t3[0]);
            }
            t8[0] = t8[0] + r2r_across_sum_floatx16(r9_0);
          }
          t2[0] = t8[0];
        }
        R2R_INDEPENDENT
        for (int64_t i12 = 0; i12 < 40; ++i12) {
          b3[i1 * 40 + i12] = (b0[i1 * 40 + i12] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * b1[i12] + b2[i12];
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], k[0], k[1], a[1]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
