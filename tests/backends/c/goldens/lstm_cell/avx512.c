void r2r_stage_0(const float* restrict b0, float* restrict b1, const float* restrict b2) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      b1[i1 * 7 + i2] = b0[i1 * 3 + i2];
    }
    *(floatx4*)&b1[i1 * 7 + 3] = *(const floatx4*)&b2[i1 * 4];
  }
}

void r2r_stage_1(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    R2R_APART
    if (i1 < 2) {
      if (i1 < 1) {
        R2R_INDEPENDENT
        for (int64_t i2 = 0; i2 < 6; ++i2) {
          b1[i2 + i1 * 6] = b0[i2];
        }
      }
      else {
        R2R_INDEPENDENT
        for (int64_t i3 = 0; i3 < 6; ++i3) {
          b1[i3 + i1 * 6] = b0[i3 + 6];
        }
      }
    }
    else {
      if (i1 < 3) {
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 6; ++i4) {
          b1[i4 + i1 * 6] = b0[i4 + 12];
        }
      }
      else {
        R2R_INDEPENDENT
        for (int64_t i5 = 0; i5 < 6; ++i5) {
          b1[i5 + i1 * 6] = b0[i5 + 18];
        }
      }
    }
  }
}

void r2r_stage_2(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  {
    float t1[128] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx16 r2_0, r2_1, r2_2, r2_3, r2_4, r2_5, r2_6, r2_7;
      r2_0 = 0.0f - (floatx16){0};
      r2_1 = 0.0f - (floatx16){0};
      r2_2 = 0.0f - (floatx16){0};
      r2_3 = 0.0f - (floatx16){0};
      r2_4 = 0.0f - (floatx16){0};
      r2_5 = 0.0f - (floatx16){0};
      r2_6 = 0.0f - (floatx16){0};
      r2_7 = 0.0f - (floatx16){0};
      {
        __attribute__((unused)) floatx16 r3_0;
        for (int64_t i4 = 0; i4 < 3; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx16*)&b0[i4 * 16];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 3] * r3_0;
          r2_2 = r2_2 + b1[i4 + 6] * r3_0;
          r2_3 = r2_3 + b1[i4 + 9] * r3_0;
          r2_4 = r2_4 + b1[i4 + 12] * r3_0;
          r2_5 = r2_5 + b1[i4 + 15] * r3_0;
          r2_6 = r2_6 + b1[i4 + 18] * r3_0;
          r2_7 = r2_7 + b1[i4 + 21] * r3_0;
        }
      }
      *(floatx16*)&t1[0] = r2_0;
      *(floatx16*)&t1[16] = r2_1;
      *(floatx16*)&t1[32] = r2_2;
      *(floatx16*)&t1[48] = r2_3;
      *(floatx16*)&t1[64] = r2_4;
      *(floatx16*)&t1[80] = r2_5;
      *(floatx16*)&t1[96] = r2_6;
      *(floatx16*)&t1[112] = r2_7;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 8; ++i5) {
      *(floatx4*)&b2[i5 * 4] = *(floatx4*)&t1[i5 * 16];
    }
  }
}

void r2r_stage_3(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3) {
  {
    float t1[32] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx16 r2_0, r2_1;
      r2_0 = 0.0f - (floatx16){0};
      r2_1 = 0.0f - (floatx16){0};
      {
        __attribute__((unused)) floatx16 r3_0;
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx16*)&b0[i4 * 16];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 4] * r3_0;
        }
      }
      *(floatx16*)&t1[0] = r2_0;
      *(floatx16*)&t1[16] = r2_1;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 2; ++i5) {
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 4; ++i6) {
        b2[i6 + i5 * 7] = r2r_tanhf(t1[i6 + i5 * 16] + b3[i6 + i5 * 4]);
      }
    }
  }
}

void r2r_stage_4(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      b1[i1 * 7 + i2] = b0[i1 * 3 + i2];
    }
  }
}

void r2r_stage_5(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3) {
  {
    float t1[32] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx16 r2_0, r2_1;
      r2_0 = 0.0f - (floatx16){0};
      r2_1 = 0.0f - (floatx16){0};
      {
        __attribute__((unused)) floatx16 r3_0;
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx16*)&b0[i4 * 16];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 7] * r3_0;
        }
      }
      *(floatx16*)&t1[0] = r2_0;
      *(floatx16*)&t1[16] = r2_1;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 2; ++i5) {
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 4; ++i6) {
        b2[i6 + i5 * 7] = r2r_tanhf(t1[i6 + i5 * 16] + b3[i6 + i5 * 4]);
      }
    }
  }
}

void r2r_stage_6(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3) {
  {
    float t1[32] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) floatx16 r2_0, r2_1;
      r2_0 = 0.0f - (floatx16){0};
      r2_1 = 0.0f - (floatx16){0};
      {
        __attribute__((unused)) floatx16 r3_0;
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const floatx16*)&b0[i4 * 16];
          r2_0 = r2_0 + b1[i4] * r3_0;
          r2_1 = r2_1 + b1[i4 + 7] * r3_0;
        }
      }
      *(floatx16*)&t1[0] = r2_0;
      *(floatx16*)&t1[16] = r2_1;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 2; ++i5) {
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 4; ++i6) {
        b2[i6 + i5 * 4] = r2r_tanhf(t1[i6 + i5 * 16] + b3[i6 + i5 * 4]);
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1, const float* restrict b2);

void r2r_stage_1(const float* restrict b0, float* restrict b1);

void r2r_stage_2(const float* restrict b0, const float* restrict b1, float* restrict b2);

void r2r_stage_3(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3);

void r2r_stage_4(const float* restrict b0, float* restrict b1);

void r2r_stage_5(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3);

void r2r_stage_6(const float* restrict b0, const float* restrict b1, float* restrict b2, const float* restrict b3);

void r2r_stage_7(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      b0[i1 * 16 + i2] = i2 < 4 ? b1[i1 + i2 * 7] : 0.0f;
    }
  }
}

void r2r_stage_8(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      b0[i1 * 16 + i2] = i2 < 4 ? b1[i1 + i2 * 7] : 0.0f;
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[3] + 0), a[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1(a[0], (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 2);
  r2r_stage_2((void*)((char*)k[0] + 256), (void*)((char*)a[3] + 0), (void*)((char*)a[3] + 128));
  if (t) r2r_lap(t, t + 3);
  r2r_stage_3((void*)((char*)k[0] + 0), a[1], (void*)((char*)(void*)((char*)a[3] + 0) + 12), (void*)((char*)a[3] + 128));
  if (t) r2r_lap(t, t + 4);
  r2r_stage_4((void*)((char*)a[0] + 24), (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 5);
  r2r_stage_5((void*)((char*)k[0] + 0), (void*)((char*)(void*)((char*)a[3] + 0) + 12), (void*)((char*)(void*)((char*)a[3] + 64) + 12), (void*)((char*)(void*)((char*)a[3] + 128) + 32));
  if (t) r2r_lap(t, t + 6);
  r2r_stage_4((void*)((char*)a[0] + 48), (void*)((char*)a[3] + 64));
  if (t) r2r_lap(t, t + 7);
  r2r_stage_5((void*)((char*)k[0] + 0), (void*)((char*)(void*)((char*)a[3] + 64) + 12), (void*)((char*)(void*)((char*)a[3] + 0) + 12), (void*)((char*)(void*)((char*)a[3] + 128) + 64));
  if (t) r2r_lap(t, t + 8);
  r2r_stage_4((void*)((char*)a[0] + 72), (void*)((char*)a[3] + 0));
  if (t) r2r_lap(t, t + 9);
  r2r_stage_6((void*)((char*)k[0] + 0), (void*)((char*)(void*)((char*)a[3] + 0) + 12), a[2], (void*)((char*)(void*)((char*)a[3] + 128) + 96));
  if (t) r2r_lap(t, t + 10);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_7((void*)((char*)k[1] + 256), k[0]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_8((void*)((char*)k[1] + 0), (void*)((char*)k[0] + 12));
  if (t) r2r_lap(t, t + 2);
  return 0;
}
