void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      {
        float t3[48] __attribute__((aligned(64), unused));
        {
          __attribute__((unused)) floatx8 r4_0, r4_1, r4_2, r4_3, r4_4, r4_5;
          r4_0 = 0.0f - (floatx8){0};
          r4_1 = 0.0f - (floatx8){0};
          r4_2 = 0.0f - (floatx8){0};
          r4_3 = 0.0f - (floatx8){0};
          r4_4 = 0.0f - (floatx8){0};
          r4_5 = 0.0f - (floatx8){0};
          {
            __attribute__((unused)) floatx8 r5_0, r5_1;
            for (int64_t i6 = 0; i6 < 4; ++i6) {
              for (int64_t i7 = 0; i7 < 3; ++i7) {
                for (int64_t i8 = 0; i8 < 3; ++i8) {
                  __builtin_prefetch(&b0[i1 * 576 + i6 * 144 + i7 * 48 + i8 * 16 + 1024]);
                  r5_0 = *(const floatx8*)&b0[i1 * 576 + i6 * 144 + i7 * 48 + i8 * 16];
                  r5_1 = *(const floatx8*)&b0[i1 * 576 + i6 * 144 + i7 * 48 + i8 * 16 + 8];
                  r4_0 = r4_0 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8] * r5_0;
                  r4_1 = r4_1 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8] * r5_1;
                  r4_2 = r4_2 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8 + 1] * r5_0;
                  r4_3 = r4_3 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8 + 1] * r5_1;
                  r4_4 = r4_4 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8 + 2] * r5_0;
                  r4_5 = r4_5 + b1[i1 * 100 + i2 * 5 + i6 * 25 + i7 * 5 + i8 + 2] * r5_1;
                }
              }
            }
          }
          *(floatx8*)&t3[0] = r4_0;
          *(floatx8*)&t3[8] = r4_1;
          *(floatx8*)&t3[16] = r4_2;
          *(floatx8*)&t3[24] = r4_3;
          *(floatx8*)&t3[32] = r4_4;
          *(floatx8*)&t3[40] = r4_5;
        }
        __asm__ volatile("" ::: "memory");
        for (int64_t i9 = 0; i9 < 16; ++i9) {
          R2R_INDEPENDENT
          for (int64_t i10 = 0; i10 < 3; ++i10) {
            b2[i9 * 9 + i1 * 144 + i10 + i2 * 3] = t3[i9 + i10 * 16];
          }
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_1(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 4; ++i2) {
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        for (int64_t i4 = 0; i4 < 3; ++i4) {
          R2R_INDEPENDENT
          for (int64_t i5 = 0; i5 < 16; ++i5) {
            b0[i1 * 576 + i5 + i2 * 144 + i3 * 48 + i4 * 16] = b1[i1 * 576 + i5 * 36 + i2 * 9 + i3 * 3 + i4];
          }
        }
      }
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)k[0] + 0), a[0], a[1]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_1((void*)((char*)k[1] + 0), k[0]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
