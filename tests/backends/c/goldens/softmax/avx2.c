void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    R2R_APART
    {
      float t2[1] __attribute__((aligned(64), unused));
      {
        float t3[40] __attribute__((aligned(64), unused));
        {
          float t4[1] __attribute__((aligned(64), unused));
          {
            float t5[1] __attribute__((aligned(64), unused));
            t5[0] = -0x1.fffffe0000000p+127f;
            {
              __attribute__((unused)) floatx8 r6_0, r6_1;
              r6_0 = -0x1.fffffe0000000p+127f - (floatx8){0};
              r6_1 = -0x1.fffffe0000000p+127f - (floatx8){0};
              for (int64_t i7 = 0; i7 < 2; ++i7) {
                r6_0 = r2r_max_floatx8(*(const floatx8*)&b0[i7 * 16 + i1 * 40], r6_0);
                r6_1 = r2r_max_floatx8(*(const floatx8*)&b0[i7 * 16 + i1 * 40 + 8], r6_1);
              }
              for (int64_t i8 = 0; i8 < 1; ++i8) {
                r6_0 = r2r_max_floatx8(*(const floatx8*)&b0[i8 * 8 + i1 * 40 + 32], r6_0);
              }
              r6_0 = r2r_max_floatx8(r6_1, r6_0);
              t5[0] = r2r_max_float(r2r_across_max_floatx8(r6_0), t5[0]);
            }
            t4[0] = isnan(b0[i1 * 40 + 39]) ? b0[i1 * 40 + 39] : t5[0];
          }
          R2R_INDEPENDENT
          for (int64_t i9 = 0; i9 < 40; ++i9) {
            t3[i9] = r2r_expf(b0[i1 * 40 + i9] - t4[0]);
          }
          {
            float t10[1] __attribute__((aligned(64), unused));
            t10[0] = 0.0f;
            {
              __attribute__((unused)) floatx8 r11_0, r11_1;
              r11_0 = 0.0f - (floatx8){0};
              r11_1 = 0.0f - (floatx8){0};
              for (int64_t i12 = 0; i12 < 2; ++i12) {
                r11_0 = r11_0 + *(floatx8*)&t3[i12 * 16];
                r11_1 = r11_1 + *(floatx8*)&t3[i12 * 16 + 8];
              }
              for (int64_t i13 = 0; i13 < 1; ++i13) {
                r11_0 = r11_0 + *(floatx8*)&t3[i13 * 8 + 32];
              }
              r11_0 = r11_0 + r11_1;
              t10[0] = t10[0] + r2r_across_sum_floatx8(r11_0);
            }
            t2[0] = t10[0];
          }
          *(floatx8*)&b1[i1 * 40] = *(floatx8*)&t3[0] / t2[0];
          *(floatx8*)&b1[i1 * 40 + 8] = *(floatx8*)&t3[8] / t2[0];
          *(floatx8*)&b1[i1 * 40 + 16] = *(floatx8*)&t3[16] / t2[0];
          *(floatx8*)&b1[i1 * 40 + 24] = *(floatx8*)&t3[24] / t2[0];
          *(floatx8*)&b1[i1 * 40 + 32] = *(floatx8*)&t3[32] / t2[0];
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], a[1]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
