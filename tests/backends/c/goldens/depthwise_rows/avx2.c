void r2r_stage_0(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 8; ++i3) {
        b0[i1 * 64 + i3 + i2 * 8] = b1[i1 * 64 + i3 * 8 + i2];
      }
    }
  }
}

struct r2r_stage_1_arguments { const float* b0; const float* b1; const float* b2; float* b3; };
static void r2r_stage_1_part(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    R2R_APART
    const int64_t i2 = step % 4;
    const int64_t i1 = step / 4;
    {
      float t3[5776] __attribute__((aligned(64), unused));
      for (int64_t i4 = 0; i4 < 19; ++i4) {
        R2R_APART
        for (int64_t i5 = 0; i5 < 3; ++i5) {
          R2R_APART
          {
            float t6[96] __attribute__((aligned(64), unused));
            {
              __attribute__((unused)) floatx8 r7_0, r7_1, r7_2, r7_3, r7_4, r7_5, r7_6, r7_7, r7_8, r7_9, r7_10, r7_11;
              r7_0 = 0.0f - (floatx8){0};
              r7_1 = 0.0f - (floatx8){0};
              r7_2 = 0.0f - (floatx8){0};
              r7_3 = 0.0f - (floatx8){0};
              r7_4 = 0.0f - (floatx8){0};
              r7_5 = 0.0f - (floatx8){0};
              r7_6 = 0.0f - (floatx8){0};
              r7_7 = 0.0f - (floatx8){0};
              r7_8 = 0.0f - (floatx8){0};
              r7_9 = 0.0f - (floatx8){0};
              r7_10 = 0.0f - (floatx8){0};
              r7_11 = 0.0f - (floatx8){0};
              {
                __attribute__((unused)) floatx8 r8_0;
                for (int64_t i9 = 0; i9 < 8; ++i9) {
                  __builtin_prefetch(&b0[i2 * 64 + i9 * 8 + 1024]);
                  r8_0 = *(const floatx8*)&b0[i2 * 64 + i9 * 8];
                  r7_0 = r7_0 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36] * r8_0;
                  r7_1 = r7_1 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 1] * r8_0;
                  r7_2 = r7_2 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 2] * r8_0;
                  r7_3 = r7_3 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 3] * r8_0;
                  r7_4 = r7_4 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 4] * r8_0;
                  r7_5 = r7_5 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 5] * r8_0;
                  r7_6 = r7_6 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 6] * r8_0;
                  r7_7 = r7_7 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 7] * r8_0;
                  r7_8 = r7_8 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 8] * r8_0;
                  r7_9 = r7_9 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 9] * r8_0;
                  r7_10 = r7_10 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 10] * r8_0;
                  r7_11 = r7_11 + b1[i5 * 12 + i9 * 1296 + r2r_max_int64_t(0, i1 * 18 + i4 - 1) * 36 + 11] * r8_0;
                }
              }
              *(floatx8*)&t6[0] = r7_0;
              *(floatx8*)&t6[8] = r7_1;
              *(floatx8*)&t6[16] = r7_2;
              *(floatx8*)&t6[24] = r7_3;
              *(floatx8*)&t6[32] = r7_4;
              *(floatx8*)&t6[40] = r7_5;
              *(floatx8*)&t6[48] = r7_6;
              *(floatx8*)&t6[56] = r7_7;
              *(floatx8*)&t6[64] = r7_8;
              *(floatx8*)&t6[72] = r7_9;
              *(floatx8*)&t6[80] = r7_10;
              *(floatx8*)&t6[88] = r7_11;
            }
            __asm__ volatile("" ::: "memory");
            for (int64_t i10 = 0; i10 < 12; ++i10) {
              R2R_APART
              *(floatx8*)&t3[i4 * 304 + i10 * 8 + i5 * 96 + 8] = ((i1 * 9 * 2 + i4 - 1) >= 0) && ((i1 * 9 * 2 + i4 - 1) <= 35) ? (floatx8)r2r_max_floatx8(*(floatx8*)&t6[i10 * 8], 0.0f - (floatx8){0}) : (floatx8)(0.0f - (floatx8){0});
            }
          }
        }
      }
      for (int64_t i11 = 0; i11 < 19; ++i11) {
        *(floatx8*)&t3[i11 * 304] = 0.0f - (floatx8){0};
      }
      for (int64_t i12 = 0; i12 < 19; ++i12) {
        *(floatx8*)&t3[i12 * 304 + 296] = 0.0f - (floatx8){0};
      }
      for (int64_t i13 = 0; i13 < 24; ++i13) {
        {
          float t14[56] __attribute__((aligned(64), unused));
          {
            __attribute__((unused)) floatx8 r15_0, r15_1, r15_2, r15_3, r15_4, r15_5, r15_6;
            r15_0 = 0.0f - (floatx8){0};
            r15_1 = 0.0f - (floatx8){0};
            r15_2 = 0.0f - (floatx8){0};
            r15_3 = 0.0f - (floatx8){0};
            r15_4 = 0.0f - (floatx8){0};
            r15_5 = 0.0f - (floatx8){0};
            r15_6 = 0.0f - (floatx8){0};
            {
              __attribute__((unused)) floatx8 r16_0;
              for (int64_t i17 = 0; i17 < 3; ++i17) {
                for (int64_t i18 = 0; i18 < 3; ++i18) {
                  r16_0 = *(const floatx8*)&b2[i2 * 72 + i17 * 24 + i18 * 8];
                  r15_0 = r15_0 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + r2r_min_int64_t(155, i13 * 7) / 18 * 320 + r2r_min_int64_t(155, i13 * 7) * 16] * r16_0;
                  r15_1 = r15_1 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 1) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 1) / 18 * 608] * r16_0;
                  r15_2 = r15_2 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 2) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 2) / 18 * 608] * r16_0;
                  r15_3 = r15_3 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 3) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 3) / 18 * 608] * r16_0;
                  r15_4 = r15_4 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 4) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 4) / 18 * 608] * r16_0;
                  r15_5 = r15_5 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 5) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 5) / 18 * 608] * r16_0;
                  r15_6 = r15_6 + *(floatx8*)&t3[i17 * 304 + i18 * 8 + (r2r_min_int64_t(155, i13 * 7) + 6) % 18 * 16 + (r2r_min_int64_t(155, i13 * 7) + 6) / 18 * 608] * r16_0;
                }
              }
            }
            *(floatx8*)&t14[0] = r15_0;
            *(floatx8*)&t14[8] = r15_1;
            *(floatx8*)&t14[16] = r15_2;
            *(floatx8*)&t14[24] = r15_3;
            *(floatx8*)&t14[32] = r15_4;
            *(floatx8*)&t14[40] = r15_5;
            *(floatx8*)&t14[48] = r15_6;
          }
          __asm__ volatile("" ::: "memory");
          for (int64_t i19 = 0; i19 < 8; ++i19) {
            R2R_INDEPENDENT
            for (int64_t i20 = 0; i20 < 7; ++i20) {
              b3[i1 * 162 + i19 * 324 + i2 * 2592 + i20 + r2r_min_int64_t(155, i13 * 7)] = t14[i19 + i20 * 8];
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
  r2r_parallel(r2r_stage_1_task, &a, 2 * 4, 1, 0);
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, const float* restrict b2, float* restrict b3);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 8; ++i4) {
          b0[i1 * 72 + i4 + i2 * 24 + i3 * 8] = b1[i1 * 72 + i4 * 9 + i2 * 3 + i3];
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
