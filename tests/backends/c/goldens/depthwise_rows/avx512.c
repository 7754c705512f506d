void r2r_stage_0(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 16; ++i3) {
        b0[i1 * 128 + i3 + i2 * 16] = b1[i1 * 128 + i3 * 8 + i2];
      }
    }
  }
}

struct r2r_stage_1_arguments { const float* b0; const float* b1; const float* b2; float* b3; };
static void r2r_stage_1_part(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    R2R_APART
    const int64_t i2 = step % 2;
    const int64_t i1 = step / 2;
    {
      float t3[6688] __attribute__((aligned(64), unused));
      for (int64_t i4 = 0; i4 < 11; ++i4) {
        R2R_APART
        for (int64_t i5 = 0; i5 < 2; ++i5) {
          R2R_APART
          {
            float t6[288] __attribute__((aligned(64), unused));
            {
              __attribute__((unused)) floatx16 r7_0, r7_1, r7_2, r7_3, r7_4, r7_5, r7_6, r7_7, r7_8, r7_9, r7_10, r7_11, r7_12, r7_13, r7_14, r7_15, r7_16, r7_17;
              r7_0 = 0.0f - (floatx16){0};
              r7_1 = 0.0f - (floatx16){0};
              r7_2 = 0.0f - (floatx16){0};
              r7_3 = 0.0f - (floatx16){0};
              r7_4 = 0.0f - (floatx16){0};
              r7_5 = 0.0f - (floatx16){0};
              r7_6 = 0.0f - (floatx16){0};
              r7_7 = 0.0f - (floatx16){0};
              r7_8 = 0.0f - (floatx16){0};
              r7_9 = 0.0f - (floatx16){0};
              r7_10 = 0.0f - (floatx16){0};
              r7_11 = 0.0f - (floatx16){0};
              r7_12 = 0.0f - (floatx16){0};
              r7_13 = 0.0f - (floatx16){0};
              r7_14 = 0.0f - (floatx16){0};
              r7_15 = 0.0f - (floatx16){0};
              r7_16 = 0.0f - (floatx16){0};
              r7_17 = 0.0f - (floatx16){0};
              {
                __attribute__((unused)) floatx16 r8_0;
                for (int64_t i9 = 0; i9 < 8; ++i9) {
                  __builtin_prefetch(&b0[i2 * 128 + i9 * 16 + 1024]);
                  r8_0 = *(const floatx16*)&b0[i2 * 128 + i9 * 16];
                  r7_0 = r7_0 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36] * r8_0;
                  r7_1 = r7_1 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 1] * r8_0;
                  r7_2 = r7_2 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 2] * r8_0;
                  r7_3 = r7_3 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 3] * r8_0;
                  r7_4 = r7_4 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 4] * r8_0;
                  r7_5 = r7_5 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 5] * r8_0;
                  r7_6 = r7_6 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 6] * r8_0;
                  r7_7 = r7_7 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 7] * r8_0;
                  r7_8 = r7_8 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 8] * r8_0;
                  r7_9 = r7_9 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 9] * r8_0;
                  r7_10 = r7_10 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 10] * r8_0;
                  r7_11 = r7_11 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 11] * r8_0;
                  r7_12 = r7_12 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 12] * r8_0;
                  r7_13 = r7_13 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 13] * r8_0;
                  r7_14 = r7_14 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 14] * r8_0;
                  r7_15 = r7_15 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 15] * r8_0;
                  r7_16 = r7_16 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 16] * r8_0;
                  r7_17 = r7_17 + b1[i5 * 18 + i9 * 1296 + r2r_max_int64_t(0, i4 + r2r_min_int64_t(13, i1 * 5) * 2 - 1) * 36 + 17] * r8_0;
                }
              }
              *(floatx16*)&t6[0] = r7_0;
              *(floatx16*)&t6[16] = r7_1;
              *(floatx16*)&t6[32] = r7_2;
              *(floatx16*)&t6[48] = r7_3;
              *(floatx16*)&t6[64] = r7_4;
              *(floatx16*)&t6[80] = r7_5;
              *(floatx16*)&t6[96] = r7_6;
              *(floatx16*)&t6[112] = r7_7;
              *(floatx16*)&t6[128] = r7_8;
              *(floatx16*)&t6[144] = r7_9;
              *(floatx16*)&t6[160] = r7_10;
              *(floatx16*)&t6[176] = r7_11;
              *(floatx16*)&t6[192] = r7_12;
              *(floatx16*)&t6[208] = r7_13;
              *(floatx16*)&t6[224] = r7_14;
              *(floatx16*)&t6[240] = r7_15;
              *(floatx16*)&t6[256] = r7_16;
              *(floatx16*)&t6[272] = r7_17;
            }
            __asm__ volatile("" ::: "memory");
            for (int64_t i10 = 0; i10 < 18; ++i10) {
              R2R_APART
              *(floatx16*)&t3[i4 * 608 + i10 * 16 + i5 * 288 + 16] = ((r2r_min_int64_t(i1 * 5, 13) * 2 + i4 - 1) >= 0) && ((r2r_min_int64_t(i1 * 5, 13) * 2 + i4 - 1) <= 35) ? (floatx16)r2r_max_floatx16(*(floatx16*)&t6[i10 * 16], 0.0f - (floatx16){0}) : (floatx16)(0.0f - (floatx16){0});
            }
          }
        }
      }
      for (int64_t i11 = 0; i11 < 11; ++i11) {
        *(floatx16*)&t3[i11 * 608] = 0.0f - (floatx16){0};
      }
      for (int64_t i12 = 0; i12 < 11; ++i12) {
        *(floatx16*)&t3[i12 * 608 + 592] = 0.0f - (floatx16){0};
      }
      for (int64_t i13 = 0; i13 < 5; ++i13) {
        for (int64_t i14 = 0; i14 < 2; ++i14) {
          {
            float t15[144] __attribute__((aligned(64), unused));
            {
              __attribute__((unused)) floatx16 r16_0, r16_1, r16_2, r16_3, r16_4, r16_5, r16_6, r16_7, r16_8;
              r16_0 = 0.0f - (floatx16){0};
              r16_1 = 0.0f - (floatx16){0};
              r16_2 = 0.0f - (floatx16){0};
              r16_3 = 0.0f - (floatx16){0};
              r16_4 = 0.0f - (floatx16){0};
              r16_5 = 0.0f - (floatx16){0};
              r16_6 = 0.0f - (floatx16){0};
              r16_7 = 0.0f - (floatx16){0};
              r16_8 = 0.0f - (floatx16){0};
              {
                __attribute__((unused)) floatx16 r17_0;
                for (int64_t i18 = 0; i18 < 3; ++i18) {
                  for (int64_t i19 = 0; i19 < 3; ++i19) {
                    r17_0 = *(const floatx16*)&b2[i2 * 144 + i18 * 48 + i19 * 16];
                    r16_0 = r16_0 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16] * r17_0;
                    r16_1 = r16_1 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 32] * r17_0;
                    r16_2 = r16_2 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 64] * r17_0;
                    r16_3 = r16_3 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 96] * r17_0;
                    r16_4 = r16_4 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 128] * r17_0;
                    r16_5 = r16_5 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 160] * r17_0;
                    r16_6 = r16_6 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 192] * r17_0;
                    r16_7 = r16_7 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 224] * r17_0;
                    r16_8 = r16_8 + *(floatx16*)&t3[i13 * 1216 + i14 * 288 + i18 * 608 + i19 * 16 + 256] * r17_0;
                  }
                }
              }
              *(floatx16*)&t15[0] = r16_0;
              *(floatx16*)&t15[16] = r16_1;
              *(floatx16*)&t15[32] = r16_2;
              *(floatx16*)&t15[48] = r16_3;
              *(floatx16*)&t15[64] = r16_4;
              *(floatx16*)&t15[80] = r16_5;
              *(floatx16*)&t15[96] = r16_6;
              *(floatx16*)&t15[112] = r16_7;
              *(floatx16*)&t15[128] = r16_8;
            }
            __asm__ volatile("" ::: "memory");
            for (int64_t i20 = 0; i20 < 16; ++i20) {
              R2R_INDEPENDENT
              for (int64_t i21 = 0; i21 < 9; ++i21) {
                b3[i20 * 324 + i2 * 5184 + i21 + i13 * 18 + i14 * 9 + r2r_min_int64_t(13, i1 * 5) * 18] = t15[i20 + i21 * 16];
              }
            }
          }
        }
      }
    }
  }
}
static void r2r_stage_1_task(const void* given, int64_t begin, int64_t end) {
  const struct r2r_stage_1_arguments* a = given;
  r2r_stage_1_part(a->b0, a->b1, a->b2, a->b3, begin, end);
}
void r2r_stage_1(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3) {
  const struct r2r_stage_1_arguments a = {b0, b1, b2, b3};
  r2r_parallel(r2r_stage_1_task, &a, 4 * 2, 1, 0);
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 16; ++i4) {
          b0[i1 * 144 + i4 + i2 * 48 + i3 * 16] = b1[i1 * 144 + i4 * 9 + i2 * 3 + i3];
        }
      }
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)a[3] + 0), a[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)a[3] + 0), a[0], (void*)((char*)k[0] + 0), a[2]);
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
