void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  {
    float t1[64] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx16 r2_0, r2_1, r2_2, r2_3;
      r2_0 = 0.0f - (floatx16){0};
      r2_1 = 0.0f - (floatx16){0};
      r2_2 = 0.0f - (floatx16){0};
      r2_3 = 0.0f - (floatx16){0};
      {
        __attribute__((unused)) floatx16 r3_0;
        for (int64_t i4 = 0; i4 < 16; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx16*)&b0[i4 * 16];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 16] * r3_0;
          r2_2 = r2_2 + b1[i4 + 32] * r3_0;
          r2_3 = r2_3 + b1[i4 + 48] * r3_0;
        }
      }
      *(floatx16*)&t1[0] = r2_0;
      *(floatx16*)&t1[16] = r2_1;
      *(floatx16*)&t1[32] = r2_2;
      *(floatx16*)&t1[48] = r2_3;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 4; ++i5) {
      *(floatx8*)&b2[i5 * 8] = *(floatx8*)&t1[i5 * 16];
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_1(float* restrict b0, const float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 8; ++i1) {
    b0[i1] = r2r_expf(b1[i1]);
  }
}

void r2r_stage_2(float* restrict b0, const float* restrict b1, const float* restrict b2) {
  for (int64_t i1 = 0; i1 < 8; ++i1) {
    *(floatx16*)&b0[i1 * 16] = *(const floatx16*)&b1[i1 * 16] * b2[i1];
  }
}

void r2r_stage_3(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      b0[i2 + i1 * 16] = i2 < 8 ? b1[i2 * 16 + i1] : 0.0f;
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
  r2r_stage_1((void*)((char*)k[3] + 512), k[0]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_2((void*)((char*)k[3] + 0), k[1], (void*)((char*)k[3] + 512));
  if (t) r2r_lap(t, t + 2);
  r2r_stage_3((void*)((char*)k[2] + 0), (void*)((char*)k[3] + 0));
  if (t) r2r_lap(t, t + 3);
  return 0;
}
