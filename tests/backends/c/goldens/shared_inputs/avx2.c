void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  {
    float t1[48] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx8 r2_0, r2_1, r2_2, r2_3, r2_4, r2_5;
      r2_0 = 0.0f - (floatx8){0};
      r2_1 = 0.0f - (floatx8){0};
      r2_2 = 0.0f - (floatx8){0};
      r2_3 = 0.0f - (floatx8){0};
      r2_4 = 0.0f - (floatx8){0};
      r2_5 = 0.0f - (floatx8){0};
      {
        __attribute__((unused)) floatx8 r3_0, r3_1;
        for (int64_t i4 = 0; i4 < 24; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx8*)&b0[i4 * 16];
          r3_1 = *(const floatx8*)&b0[i4 * 16 + 8];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4] * r3_1;
          r2_2 = r2_2 + b1[i4 + 24] * r3_0;
          r2_3 = r2_3 + b1[i4 + 24] * r3_1;
          r2_4 = r2_4 + b1[i4 + 48] * r3_0;
          r2_5 = r2_5 + b1[i4 + 48] * r3_1;
        }
      }
      *(floatx8*)&t1[0] = r2_0;
      *(floatx8*)&t1[8] = r2_1;
      *(floatx8*)&t1[16] = r2_2;
      *(floatx8*)&t1[24] = r2_3;
      *(floatx8*)&t1[32] = r2_4;
      *(floatx8*)&t1[40] = r2_5;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 3; ++i5) {
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 13; ++i6) {
        b2[i6 + i5 * 13] = t1[i6 + i5 * 16];
      }
    }
  }
}

void r2r_stage_1(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      b0[i1 * 8 + i2] = r2r_sigmoidf(b1[i1 * 13 + i2]);
    }
  }
}

void r2r_stage_2(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 5; ++i2) {
      b1[i1 * 5 + i2] = r2r_max_float(b0[i1 * 13 + i2], 0.0f);
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_1(float* restrict b0, const float* restrict b1);

void r2r_stage_2(const float* restrict b0, float* restrict b1);

void r2r_stage_3(float* restrict b0, const float* restrict b1, const float* restrict b2) {
  for (int64_t i1 = 0; i1 < 24; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      b0[i2 + i1 * 13] = b1[i2 * 24 + i1];
    }
    R2R_INDEPENDENT
    for (int64_t i3 = 0; i3 < 5; ++i3) {
      b0[i3 + i1 * 13 + 8] = b2[i3 * 24 + i1];
    }
  }
}

void r2r_stage_4(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 24; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      b0[i2 + i1 * 16] = i2 < 13 ? b1[i2 + i1 * 13] : 0.0f;
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)k[0] + 0), a[0], (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1(a[1], (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 2);
  r2r_stage_2((void*)((char*)(void*)((char*)a[3] + 0) + 32), a[2]);
  if (t) r2r_lap(t, t + 3);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_3((void*)((char*)k[3] + 0), k[0], k[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_4((void*)((char*)k[2] + 0), (void*)((char*)k[3] + 0));
  if (t) r2r_lap(t, t + 2);
  return 0;
}
