void r2r_stage_0(const float* restrict b0, float* restrict b1, const float* restrict b2, const float* restrict b3) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    {
      float t2[1] __attribute__((aligned(64), unused));
      {
        float t3[1] __attribute__((aligned(64), unused));
        {
          float t4[1] __attribute__((aligned(64), unused));
          t4[0] = 0.0f;
          {
            __attribute__((unused)) floatx8 r5_0, r5_1;
            r5_0 = 0.0f - (floatx8){0};
            r5_1 = 0.0f - (floatx8){0};
            for (int64_t i6 = 0; i6 < 2; ++i6) {
              r5_0 = r5_0 + *(const floatx8*)&b0[i6 * 16 + i1 * 40];
              r5_1 = r5_1 + *(const floatx8*)&b0[i6 * 16 + i1 * 40 + 8];
            }
            for (int64_t i7 = 0; i7 < 1; ++i7) {
              r5_0 = r5_0 + *(const floatx8*)&b0[i7 * 8 + i1 * 40 + 32];
            }
            r5_0 = r5_0 + r5_1;
            t4[0] = t4[0] + r2r_across_sum_floatx8(r5_0);
          }
          t3[0] = t4[0] / 40.0f;
        }
        {
          float t8[1] __attribute__((aligned(64), unused));
          t8[0] = 0.0f;
          {
            __attribute__((unused)) floatx8 r9_0, r9_1;
            r9_0 = 0.0f - (floatx8){0};
            r9_1 = 0.0f - (floatx8){0};
            for (int64_t i10 = 0; i10 < 2; ++i10) {
              r9_0 = r9_0 + (*(const floatx8*)&b0[i10 * 16 + i1 * 40] - t3[0]) * (*(const floatx8*)&b0[i10 * 16 + i1 * 40] - t3[0]);
              r9_1 = r9_1 + (*(const floatx8*)&b0[i10 * 16 + i1 * 40 + 8] - t3[0]) * (*(const floatx8*)&b0[i10 * 16 + i1 * 40 + 8] - t3[0]);
            }
            for (int64_t i11 = 0; i11 < 1; ++i11) {
              r9_0 = r9_0 + (*(const floatx8*)&b0[i11 * 8 + i1 * 40 + 32] - t3[0]) * (*(const floatx8*)&b0[i11 * 8 + i1 * 40 + 32] - t3[0]);
            }
            r9_0 = r9_0 + r9_1;
            t8[0] = t8[0] + r2r_across_sum_floatx8(r9_0);
          }
          t2[0] = t8[0];
        }
        *(floatx8*)&b1[i1 * 40] = (*(const floatx8*)&b0[i1 * 40] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * *(const floatx8*)&b2[0] + *(const floatx8*)&b3[0];
        *(floatx8*)&b1[i1 * 40 + 8] = (*(const floatx8*)&b0[i1 * 40 + 8] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * *(const floatx8*)&b2[8] + *(const floatx8*)&b3[8];
        *(floatx8*)&b1[i1 * 40 + 16] = (*(const floatx8*)&b0[i1 * 40 + 16] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * *(const floatx8*)&b2[16] + *(const floatx8*)&b3[16];
        *(floatx8*)&b1[i1 * 40 + 24] = (*(const floatx8*)&b0[i1 * 40 + 24] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * *(const floatx8*)&b2[24] + *(const floatx8*)&b3[24];
        *(floatx8*)&b1[i1 * 40 + 32] = (*(const floatx8*)&b0[i1 * 40 + 32] - t3[0]) / sqrtf(t2[0] / 40.0f + 0x1.4f8b588e368f1p-17f) * *(const floatx8*)&b2[32] + *(const floatx8*)&b3[32];
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1, const float* restrict b2, const float* restrict b3);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], a[1], k[0], k[1]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
