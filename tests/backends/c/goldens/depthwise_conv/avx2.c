void r2r_stage_0(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 10; ++i1) {
    R2R_APART
    for (int64_t i2 = 0; i2 < 10; ++i2) {
      R2R_APART
      if (i1 >= 1) {
        if (i1 < 9) {
          if (i2 >= 1) {
            R2R_INDEPENDENT
            for (int64_t i3 = 0; i3 < 16; ++i3) {
              b0[i3 + i1 * 160 + i2 * 16] = i2 < 9 ? b1[i3 * 64 + i1 * 8 + i2 - 9] : 0.0f;
            }
          }
          else {
            *(floatx8*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx8){0};
            *(floatx8*)&b0[i1 * 160 + i2 * 16 + 8] = 0.0f - (floatx8){0};
          }
        }
        else {
          *(floatx8*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx8){0};
          *(floatx8*)&b0[i1 * 160 + i2 * 16 + 8] = 0.0f - (floatx8){0};
        }
      }
      else {
        *(floatx8*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx8){0};
        *(floatx8*)&b0[i1 * 160 + i2 * 16 + 8] = 0.0f - (floatx8){0};
      }
    }
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 10; ++i2) {
      {
        float t3[56] __attribute__((aligned(64), unused));
        {
          __attribute__((unused)) floatx8 r4_0, r4_1, r4_2, r4_3, r4_4, r4_5, r4_6;
          r4_0 = 0.0f - (floatx8){0};
          r4_1 = 0.0f - (floatx8){0};
          r4_2 = 0.0f - (floatx8){0};
          r4_3 = 0.0f - (floatx8){0};
          r4_4 = 0.0f - (floatx8){0};
          r4_5 = 0.0f - (floatx8){0};
          r4_6 = 0.0f - (floatx8){0};
          {
            __attribute__((unused)) floatx8 r5_0;
            for (int64_t i6 = 0; i6 < 3; ++i6) {
              for (int64_t i7 = 0; i7 < 3; ++i7) {
                r5_0 = *(const floatx8*)&b0[i1 * 72 + i6 * 24 + i7 * 8];
                r4_0 = r4_0 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + r2r_min_int64_t(57, i2 * 7) * 20 - r2r_min_int64_t(57, i2 * 7) % 8 * 4] * r5_0;
                r4_1 = r4_1 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 1) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 1) / 8 * 160] * r5_0;
                r4_2 = r4_2 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 2) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 2) / 8 * 160] * r5_0;
                r4_3 = r4_3 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 3) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 3) / 8 * 160] * r5_0;
                r4_4 = r4_4 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 4) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 4) / 8 * 160] * r5_0;
                r4_5 = r4_5 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 5) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 5) / 8 * 160] * r5_0;
                r4_6 = r4_6 + *(const floatx8*)&b1[i1 * 8 + i6 * 160 + i7 * 16 + (r2r_min_int64_t(57, i2 * 7) + 6) % 8 * 16 + (r2r_min_int64_t(57, i2 * 7) + 6) / 8 * 160] * r5_0;
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
        }
        __asm__ volatile("" ::: "memory");
        for (int64_t i8 = 0; i8 < 8; ++i8) {
          R2R_INDEPENDENT
          for (int64_t i9 = 0; i9 < 7; ++i9) {
            b2[i8 * 64 + i9 + i1 * 512 + r2r_min_int64_t(57, i2 * 7)] = t3[i8 + i9 * 8];
          }
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 8; ++i4) {
          b0[i4 + i1 * 72 + i2 * 24 + i3 * 8] = b1[i4 * 9 + i1 * 72 + i2 * 3 + i3];
        }
      }
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)a[2] + 0), a[0]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)k[0] + 0), (void*)((char*)a[2] + 0), a[1]);
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
