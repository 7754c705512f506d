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
            *(floatx16*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx16){0};
          }
        }
        else {
          *(floatx16*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx16){0};
        }
      }
      else {
        *(floatx16*)&b0[i1 * 160 + i2 * 16] = 0.0f - (floatx16){0};
      }
    }
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2) {
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
              r4_0 = *(const floatx16*)&b0[i5 * 48 + i6 * 16];
              r3_0 = r3_0 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16] * r4_0;
              r3_1 = r3_1 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 16] * r4_0;
              r3_2 = r3_2 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 32] * r4_0;
              r3_3 = r3_3 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 48] * r4_0;
              r3_4 = r3_4 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 64] * r4_0;
              r3_5 = r3_5 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 80] * r4_0;
              r3_6 = r3_6 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 96] * r4_0;
              r3_7 = r3_7 + *(const floatx16*)&b1[i1 * 160 + i5 * 160 + i6 * 16 + 112] * r4_0;
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
      for (int64_t i7 = 0; i7 < 16; ++i7) {
        R2R_INDEPENDENT
        for (int64_t i8 = 0; i8 < 8; ++i8) {
          b2[i7 * 64 + i8 + i1 * 8] = t2[i7 + i8 * 16];
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(float* restrict b0, const float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_2(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 16; ++i3) {
        b0[i3 + i1 * 48 + i2 * 16] = b1[i3 * 9 + i1 * 3 + i2];
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
