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
    {
      float t2[128] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx16 r3_0, r3_1, r3_2, r3_3, r3_4, r3_5, r3_6, r3_7;
        r3_0 = 0.0f - (floatx16){0};
        r3_1 = 0.0f - (floatx16){0};
        r3_2 = 0.0f - (floatx16){0};
        r3_3 = 0.0f - (floatx16){0};
        r3_4 = 0.0f - (floatx16){0};
        r3_5 = 0.0f - (floatx16){0};
        r3_6 = 0.0f - (floatx16){0};
        r3_7 = 0.0f - (floatx16){0};
        {
          __attribute__((unused)) floatx16 r4_0;
          for (int64_t i5 = 0; i5 < 3; ++i5) {
            for (int64_t i6 = 0; i6 < 3; ++i6) {
              for (int64_t i7 = 0; i7 < 3; ++i7) {
                __builtin_prefetch(&b0[i5 * 144 + i6 * 48 + i7 * 16 + 1024]);
                r4_0 = *(const floatx16*)&b0[i5 * 144 + i6 * 48 + i7 * 16];
                r3_0 = r3_0 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7] * r4_0;
                r3_1 = r3_1 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 1] * r4_0;
                r3_2 = r3_2 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 2] * r4_0;
                r3_3 = r3_3 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 3] * r4_0;
                r3_4 = r3_4 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 4] * r4_0;
                r3_5 = r3_5 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 5] * r4_0;
                r3_6 = r3_6 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 6] * r4_0;
                r3_7 = r3_7 + b1[i1 * 10 + i5 * 100 + i6 * 10 + i7 + 7] * r4_0;
              }
            }
          }
        }
        *(floatx16*)&t2[0] = r3_0;
        *(floatx16*)&t2[16] = r3_1;
        *(floatx16*)&t2[32] = r3_2;
        *(floatx16*)&t2[48] = r3_3;
        *(floatx16*)&t2[64] = r3_4;
        *(floatx16*)&t2[80] = r3_5;
        *(floatx16*)&t2[96] = r3_6;
        *(floatx16*)&t2[112] = r3_7;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i8 = 0; i8 < 16; ++i8) {
        R2R_INDEPENDENT
        for (int64_t i9 = 0; i9 < 8; ++i9) {
          b2[i8 * 64 + i9 + i1 * 8] = r2r_max_float(t2[i8 + i9 * 16] + b3[i8], 0.0f);
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 16; ++i4) {
          b0[i4 + i1 * 144 + i2 * 48 + i3 * 16] = b1[i4 * 27 + i1 * 9 + i2 * 3 + i3];
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
  r2r_stage_1((void*)((char*)k[1] + 0), (void*)((char*)a[2] + 0), a[1], k[0]);
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
