void r2r_stage_0(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    R2R_APART
    {
      float t2[512] __attribute__((aligned(64), unused));
      for (int64_t i3 = 0; i3 < 16; ++i3) {
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          {
            float t5[8] __attribute__((aligned(64), unused));
            {
              __attribute__((unused)) floatx8 r6_0, r6_1, r6_2, r6_3, r6_4, r6_5, r6_6, r6_7;
              r6_0 = 0.0f - (floatx8){0};
              r6_1 = 0.0f - (floatx8){0};
              r6_2 = 0.0f - (floatx8){0};
              r6_3 = 0.0f - (floatx8){0};
              r6_4 = 0.0f - (floatx8){0};
              r6_5 = 0.0f - (floatx8){0};
              r6_6 = 0.0f - (floatx8){0};
              r6_7 = 0.0f - (floatx8){0};
              for (int64_t i7 = 0; i7 < 1; ++i7) {
                r6_0 = r6_0 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256];
                r6_1 = r6_1 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 8];
                r6_2 = r6_2 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 16];
                r6_3 = r6_3 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 24];
                r6_4 = r6_4 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 32];
                r6_5 = r6_5 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 40];
                r6_6 = r6_6 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 48];
                r6_7 = r6_7 + *(const floatx8*)&b0[i7 * 8 + i3 * 8 + i1 * 128] * *(const floatx8*)&b1[i7 * 8 + i4 * 64 + i1 * 256 + 56];
              }
              t5[0] = r2r_across_sum_floatx8(r6_0);
              t5[1] = r2r_across_sum_floatx8(r6_1);
              t5[2] = r2r_across_sum_floatx8(r6_2);
              t5[3] = r2r_across_sum_floatx8(r6_3);
              t5[4] = r2r_across_sum_floatx8(r6_4);
              t5[5] = r2r_across_sum_floatx8(r6_5);
              t5[6] = r2r_across_sum_floatx8(r6_6);
              t5[7] = r2r_across_sum_floatx8(r6_7);
            }
            for (int64_t i8 = 0; i8 < 8; ++i8) {
              t2[i8 + i3 * 32 + i4 * 8] = t5[i8];
            }
          }
        }
      }
      for (int64_t i9 = 0; i9 < 16; ++i9) {
        R2R_APART
        {
          float t10[1] __attribute__((aligned(64), unused));
          {
            float t11[32] __attribute__((aligned(64), unused));
            {
              float t12[1] __attribute__((aligned(64), unused));
              {
                float t13[1] __attribute__((aligned(64), unused));
                t13[0] = -0x1.fffffe0000000p+127f;
                {
                  __attribute__((unused)) floatx16 r14_0;
                  r14_0 = -0x1.fffffe0000000p+127f - (floatx16){0};
                  for (int64_t i15 = 0; i15 < 2; ++i15) {
                    r14_0 = r2r_max_floatx16(*(floatx16*)&t2[i15 * 16 + i9 * 32], r14_0);
                  }
                  t13[0] = r2r_max_float(r2r_across_max_floatx16(r14_0), t13[0]);
                }
                t12[0] = isnan(t2[i9 * 32 + 31]) ? t2[i9 * 32 + 31] : t13[0];
              }
              R2R_INDEPENDENT
              for (int64_t i16 = 0; i16 < 32; ++i16) {
                t11[i16] = r2r_expf(t2[i9 * 32 + i16] - t12[0]);
              }
              {
                float t17[1] __attribute__((aligned(64), unused));
                t17[0] = 0.0f;
                {
                  __attribute__((unused)) floatx16 r18_0;
                  r18_0 = 0.0f - (floatx16){0};
                  for (int64_t i19 = 0; i19 < 2; ++i19) {
                    r18_0 = r18_0 + *(floatx16*)&t11[i19 * 16];
                  }
                  t17[0] = t17[0] + r2r_across_sum_floatx16(r18_0);
                }
                t10[0] = t17[0];
              }
              *(floatx16*)&t2[i9 * 32] = *(floatx16*)&t11[0] / t10[0];
              *(floatx16*)&t2[i9 * 32 + 16] = *(floatx16*)&t11[16] / t10[0];
            }
          }
        }
      }
      for (int64_t i20 = 0; i20 < 16; ++i20) {
        {
          float t21[8] __attribute__((aligned(64), unused));
          {
            __attribute__((unused)) floatx16 r22_0, r22_1, r22_2, r22_3, r22_4, r22_5, r22_6, r22_7;
            r22_0 = 0.0f - (floatx16){0};
            r22_1 = 0.0f - (floatx16){0};
            r22_2 = 0.0f - (floatx16){0};
            r22_3 = 0.0f - (floatx16){0};
            r22_4 = 0.0f - (floatx16){0};
            r22_5 = 0.0f - (floatx16){0};
            r22_6 = 0.0f - (floatx16){0};
            r22_7 = 0.0f - (floatx16){0};
            for (int64_t i23 = 0; i23 < 2; ++i23) {
              r22_0 = r22_0 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256];
              r22_1 = r22_1 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 32];
              r22_2 = r22_2 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 64];
              r22_3 = r22_3 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 96];
              r22_4 = r22_4 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 128];
              r22_5 = r22_5 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 160];
              r22_6 = r22_6 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 192];
              r22_7 = r22_7 + *(floatx16*)&t2[i23 * 16 + i20 * 32] * *(const floatx16*)&b2[i23 * 16 + i1 * 256 + 224];
            }
            t21[0] = r2r_across_sum_floatx16(r22_0);
            t21[1] = r2r_across_sum_floatx16(r22_1);
            t21[2] = r2r_across_sum_floatx16(r22_2);
            t21[3] = r2r_across_sum_floatx16(r22_3);
            t21[4] = r2r_across_sum_floatx16(r22_4);
            t21[5] = r2r_across_sum_floatx16(r22_5);
            t21[6] = r2r_across_sum_floatx16(r22_6);
            t21[7] = r2r_across_sum_floatx16(r22_7);
          }
          for (int64_t i24 = 0; i24 < 8; ++i24) {
            b3[i24 + i20 * 8 + i1 * 128] = t21[i24];
          }
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
  r2r_stage_0(a[0], a[1], a[2], a[3]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
