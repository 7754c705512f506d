void r2r_stage_0(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_APART
    for (int64_t i2 = 0; i2 < 10; ++i2) {
      R2R_APART
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 1; ++i3) {
        b0[i1 * 100 + i2 * 10 + i3] = 0.0f;
      }
      if (i2 >= 1) {
        if (i2 < 9) {
          *(floatx8*)&b0[i1 * 100 + i2 * 10 + 1] = *(const floatx8*)&b1[i1 * 64 + i2 * 8 - 8];
        }
        else {
          *(floatx8*)&b0[i1 * 100 + i2 * 10 + 1] = 0.0f - (floatx8){0};
        }
      }
      else {
        *(floatx8*)&b0[i1 * 100 + i2 * 10 + 1] = 0.0f - (floatx8){0};
      }
      R2R_INDEPENDENT
      for (int64_t i4 = 0; i4 < 1; ++i4) {
        b0[i1 * 100 + i2 * 10 + i4 + 9] = 0.0f;
      }
    }
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3) {
  for (int64_t i1 = 0; i1 < 8; ++i1) {
    for (int64_t i2 = 0; i2 < 2; ++i2) {
      {
        float t3[64] __attribute__((aligned(64), unused));
        {
          __attribute__((unused)) floatx8 r4_0, r4_1, r4_2, r4_3, r4_4, r4_5, r4_6, r4_7;
          r4_0 = 0.0f - (floatx8){0};
          r4_1 = 0.0f - (floatx8){0};
          r4_2 = 0.0f - (floatx8){0};
          r4_3 = 0.0f - (floatx8){0};
          r4_4 = 0.0f - (floatx8){0};
          r4_5 = 0.0f - (floatx8){0};
          r4_6 = 0.0f - (floatx8){0};
          r4_7 = 0.0f - (floatx8){0};
          {
            __attribute__((unused)) floatx8 r5_0;
            for (int64_t i6 = 0; i6 < 3; ++i6) {
              for (int64_t i7 = 0; i7 < 3; ++i7) {
                for (int64_t i8 = 0; i8 < 3; ++i8) {
                  r5_0 = *(const floatx8*)&b0[i1 * 10 + i6 * 100 + i7 * 10 + i8];
                  r4_0 = r4_0 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8] * r5_0;
                  r4_1 = r4_1 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 27] * r5_0;
                  r4_2 = r4_2 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 54] * r5_0;
                  r4_3 = r4_3 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 81] * r5_0;
                  r4_4 = r4_4 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 108] * r5_0;
                  r4_5 = r4_5 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 135] * r5_0;
                  r4_6 = r4_6 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 162] * r5_0;
                  r4_7 = r4_7 + b1[i2 * 216 + i6 * 9 + i7 * 3 + i8 + 189] * r5_0;
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
          *(floatx8*)&t3[48] = r4_6;
          *(floatx8*)&t3[56] = r4_7;
        }
        __asm__ volatile("" ::: "memory");
        for (int64_t i9 = 0; i9 < 8; ++i9) {
          *(floatx8*)&b2[i9 * 64 + i2 * 512 + i1 * 8] = r2r_max_floatx8(*(floatx8*)&t3[i9 * 8] + b3[i9 + i2 * 8], 0.0f - (floatx8){0});
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)a[2] + 0), a[0]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)a[2] + 0), k[0], a[1], k[1]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
