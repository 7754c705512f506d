void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2, int64_t n0) {
  for (int64_t i1 = 0; i1 < (n0 / 8); ++i1) {
    {
      float t2[64] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r3_0, r3_1, r3_2, r3_3, r3_4, r3_5, r3_6, r3_7;
        r3_0 = 0.0f - (floatx8){0};
        r3_1 = 0.0f - (floatx8){0};
        r3_2 = 0.0f - (floatx8){0};
        r3_3 = 0.0f - (floatx8){0};
        r3_4 = 0.0f - (floatx8){0};
        r3_5 = 0.0f - (floatx8){0};
        r3_6 = 0.0f - (floatx8){0};
        r3_7 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r4_0;
          for (int64_t i5 = 0; i5 < 16; ++i5) {
            __builtin_prefetch(&b0[i5 * 8 + 1024]);
            r4_0 = *(const floatx8*)&b0[i5 * 8];
            r3_0 = r3_0 + b1[i1 * 128 + i5] * r4_0;
            r3_1 = r3_1 + b1[i1 * 128 + i5 + 16] * r4_0;
            r3_2 = r3_2 + b1[i1 * 128 + i5 + 32] * r4_0;
            r3_3 = r3_3 + b1[i1 * 128 + i5 + 48] * r4_0;
            r3_4 = r3_4 + b1[i1 * 128 + i5 + 64] * r4_0;
            r3_5 = r3_5 + b1[i1 * 128 + i5 + 80] * r4_0;
            r3_6 = r3_6 + b1[i1 * 128 + i5 + 96] * r4_0;
            r3_7 = r3_7 + b1[i1 * 128 + i5 + 112] * r4_0;
          }
        }
        *(floatx8*)&t2[0] = r3_0;
        *(floatx8*)&t2[8] = r3_1;
        *(floatx8*)&t2[16] = r3_2;
        *(floatx8*)&t2[24] = r3_3;
        *(floatx8*)&t2[32] = r3_4;
        *(floatx8*)&t2[40] = r3_5;
        *(floatx8*)&t2[48] = r3_6;
        *(floatx8*)&t2[56] = r3_7;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i6 = 0; i6 < 8; ++i6) {
        *(floatx8*)&b2[i6 * 8 + i1 * 64] = *(floatx8*)&t2[i6 * 8];
      }
    }
  }
  if ((n0 % 8) == 1) {
    {
      float t7[8] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r8_0;
        r8_0 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r9_0;
          for (int64_t i10 = 0; i10 < 16; ++i10) {
            __builtin_prefetch(&b0[i10 * 8 + 1024]);
            r9_0 = *(const floatx8*)&b0[i10 * 8];
            r8_0 = r8_0 + b1[i10 + n0 / 8 * 128] * r9_0;
          }
        }
        *(floatx8*)&t7[0] = r8_0;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i11 = 0; i11 < 1; ++i11) {
        *(floatx8*)&b2[i11 * 8 + n0 / 8 * 64] = *(floatx8*)&t7[i11 * 8];
      }
    }
  }
  if ((n0 % 8) == 2) {
    {
      float t12[16] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r13_0, r13_1;
        r13_0 = 0.0f - (floatx8){0};
        r13_1 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r14_0;
          for (int64_t i15 = 0; i15 < 16; ++i15) {
            __builtin_prefetch(&b0[i15 * 8 + 1024]);
            r14_0 = *(const floatx8*)&b0[i15 * 8];
            r13_0 = r13_0 + b1[i15 + n0 / 8 * 128] * r14_0;
            r13_1 = r13_1 + b1[i15 + n0 / 8 * 128 + 16] * r14_0;
          }
        }
        *(floatx8*)&t12[0] = r13_0;
        *(floatx8*)&t12[8] = r13_1;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i16 = 0; i16 < 2; ++i16) {
        *(floatx8*)&b2[i16 * 8 + n0 / 8 * 64] = *(floatx8*)&t12[i16 * 8];
      }
    }
  }
  if ((n0 % 8) == 3) {
    {
      float t17[24] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r18_0, r18_1, r18_2;
        r18_0 = 0.0f - (floatx8){0};
        r18_1 = 0.0f - (floatx8){0};
        r18_2 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r19_0;
          for (int64_t i20 = 0; i20 < 16; ++i20) {
            __builtin_prefetch(&b0[i20 * 8 + 1024]);
            r19_0 = *(const floatx8*)&b0[i20 * 8];
            r18_0 = r18_0 + b1[i20 + n0 / 8 * 128] * r19_0;
            r18_1 = r18_1 + b1[i20 + n0 / 8 * 128 + 16] * r19_0;
            r18_2 = r18_2 + b1[i20 + n0 / 8 * 128 + 32] * r19_0;
          }
        }
        *(floatx8*)&t17[0] = r18_0;
        *(floatx8*)&t17[8] = r18_1;
        *(floatx8*)&t17[16] = r18_2;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i21 = 0; i21 < 3; ++i21) {
        *(floatx8*)&b2[i21 * 8 + n0 / 8 * 64] = *(floatx8*)&t17[i21 * 8];
      }
    }
  }
  if ((n0 % 8) == 4) {
    {
      float t22[32] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r23_0, r23_1, r23_2, r23_3;
        r23_0 = 0.0f - (floatx8){0};
        r23_1 = 0.0f - (floatx8){0};
        r23_2 = 0.0f - (floatx8){0};
        r23_3 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r24_0;
          for (int64_t i25 = 0; i25 < 16; ++i25) {
            __builtin_prefetch(&b0[i25 * 8 + 1024]);
            r24_0 = *(const floatx8*)&b0[i25 * 8];
            r23_0 = r23_0 + b1[i25 + n0 / 8 * 128] * r24_0;
            r23_1 = r23_1 + b1[i25 + n0 / 8 * 128 + 16] * r24_0;
            r23_2 = r23_2 + b1[i25 + n0 / 8 * 128 + 32] * r24_0;
            r23_3 = r23_3 + b1[i25 + n0 / 8 * 128 + 48] * r24_0;
          }
        }
        *(floatx8*)&t22[0] = r23_0;
        *(floatx8*)&t22[8] = r23_1;
        *(floatx8*)&t22[16] = r23_2;
        *(floatx8*)&t22[24] = r23_3;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i26 = 0; i26 < 4; ++i26) {
        *(floatx8*)&b2[i26 * 8 + n0 / 8 * 64] = *(floatx8*)&t22[i26 * 8];
      }
    }
  }
  if ((n0 % 8) == 5) {
    {
      float t27[40] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r28_0, r28_1, r28_2, r28_3, r28_4;
        r28_0 = 0.0f - (floatx8){0};
        r28_1 = 0.0f - (floatx8){0};
        r28_2 = 0.0f - (floatx8){0};
        r28_3 = 0.0f - (floatx8){0};
        r28_4 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r29_0;
          for (int64_t i30 = 0; i30 < 16; ++i30) {
            __builtin_prefetch(&b0[i30 * 8 + 1024]);
            r29_0 = *(const floatx8*)&b0[i30 * 8];
            r28_0 = r28_0 + b1[i30 + n0 / 8 * 128] * r29_0;
            r28_1 = r28_1 + b1[i30 + n0 / 8 * 128 + 16] * r29_0;
            r28_2 = r28_2 + b1[i30 + n0 / 8 * 128 + 32] * r29_0;
            r28_3 = r28_3 + b1[i30 + n0 / 8 * 128 + 48] * r29_0;
            r28_4 = r28_4 + b1[i30 + n0 / 8 * 128 + 64] * r29_0;
          }
        }
        *(floatx8*)&t27[0] = r28_0;
        *(floatx8*)&t27[8] = r28_1;
        *(floatx8*)&t27[16] = r28_2;
        *(floatx8*)&t27[24] = r28_3;
        *(floatx8*)&t27[32] = r28_4;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i31 = 0; i31 < 5; ++i31) {
        *(floatx8*)&b2[i31 * 8 + n0 / 8 * 64] = *(floatx8*)&t27[i31 * 8];
      }
    }
  }
  if ((n0 % 8) == 6) {
    {
      float t32[48] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r33_0, r33_1, r33_2, r33_3, r33_4, r33_5;
        r33_0 = 0.0f - (floatx8){0};
        r33_1 = 0.0f - (floatx8){0};
        r33_2 = 0.0f - (floatx8){0};
        r33_3 = 0.0f - (floatx8){0};
        r33_4 = 0.0f - (floatx8){0};
        r33_5 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r34_0;
          for (int64_t i35 = 0; i35 < 16; ++i35) {
            __builtin_prefetch(&b0[i35 * 8 + 1024]);
            r34_0 = *(const floatx8*)&b0[i35 * 8];
            r33_0 = r33_0 + b1[i35 + n0 / 8 * 128] * r34_0;
            r33_1 = r33_1 + b1[i35 + n0 / 8 * 128 + 16] * r34_0;
            r33_2 = r33_2 + b1[i35 + n0 / 8 * 128 + 32] * r34_0;
            r33_3 = r33_3 + b1[i35 + n0 / 8 * 128 + 48] * r34_0;
            r33_4 = r33_4 + b1[i35 + n0 / 8 * 128 + 64] * r34_0;
            r33_5 = r33_5 + b1[i35 + n0 / 8 * 128 + 80] * r34_0;
          }
        }
        *(floatx8*)&t32[0] = r33_0;
        *(floatx8*)&t32[8] = r33_1;
        *(floatx8*)&t32[16] = r33_2;
        *(floatx8*)&t32[24] = r33_3;
        *(floatx8*)&t32[32] = r33_4;
        *(floatx8*)&t32[40] = r33_5;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i36 = 0; i36 < 6; ++i36) {
        *(floatx8*)&b2[i36 * 8 + n0 / 8 * 64] = *(floatx8*)&t32[i36 * 8];
      }
    }
  }
  if ((n0 % 8) == 7) {
    {
      float t37[56] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r38_0, r38_1, r38_2, r38_3, r38_4, r38_5, r38_6;
        r38_0 = 0.0f - (floatx8){0};
        r38_1 = 0.0f - (floatx8){0};
        r38_2 = 0.0f - (floatx8){0};
        r38_3 = 0.0f - (floatx8){0};
        r38_4 = 0.0f - (floatx8){0};
        r38_5 = 0.0f - (floatx8){0};
        r38_6 = 0.0f - (floatx8){0};
        {
          __attribute__((unused)) floatx8 r39_0;
          for (int64_t i40 = 0; i40 < 16; ++i40) {
            __builtin_prefetch(&b0[i40 * 8 + 1024]);
            r39_0 = *(const floatx8*)&b0[i40 * 8];
            r38_0 = r38_0 + b1[i40 + n0 / 8 * 128] * r39_0;
            r38_1 = r38_1 + b1[i40 + n0 / 8 * 128 + 16] * r39_0;
            r38_2 = r38_2 + b1[i40 + n0 / 8 * 128 + 32] * r39_0;
            r38_3 = r38_3 + b1[i40 + n0 / 8 * 128 + 48] * r39_0;
            r38_4 = r38_4 + b1[i40 + n0 / 8 * 128 + 64] * r39_0;
            r38_5 = r38_5 + b1[i40 + n0 / 8 * 128 + 80] * r39_0;
            r38_6 = r38_6 + b1[i40 + n0 / 8 * 128 + 96] * r39_0;
          }
        }
        *(floatx8*)&t37[0] = r38_0;
        *(floatx8*)&t37[8] = r38_1;
        *(floatx8*)&t37[16] = r38_2;
        *(floatx8*)&t37[24] = r38_3;
        *(floatx8*)&t37[32] = r38_4;
        *(floatx8*)&t37[40] = r38_5;
        *(floatx8*)&t37[48] = r38_6;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i41 = 0; i41 < 7; ++i41) {
        *(floatx8*)&b2[i41 * 8 + n0 / 8 * 64] = *(floatx8*)&t37[i41 * 8];
      }
    }
  }
}

struct r2r_stage_1_arguments { const float* b0; float* b1; int64_t n0; };
static void r2r_stage_1_part(const float* restrict b0, float* restrict b1, int64_t n0, int64_t begin, int64_t end) {
  (void)n0;
  for (int64_t step = begin; step < end; ++step) {
    R2R_APART
    const int64_t i1 = step;
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = -0x1.fffffe0000000p+127f;
      {
        __attribute__((unused)) floatx8 r3_0;
        r3_0 = -0x1.fffffe0000000p+127f - (floatx8){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          r3_0 = r2r_max_floatx8(r2r_max_floatx8(*(const floatx8*)&b0[i4 * 8 + i1 * 8], 0.0f - (floatx8){0}), r3_0);
        }
        t2[0] = r2r_max_float(r2r_across_max_floatx8(r3_0), t2[0]);
      }
      b1[i1] = isnan(r2r_max_float(b0[i1 * 8 + 7], 0.0f)) ? r2r_max_float(b0[i1 * 8 + 7], 0.0f) : t2[0];
    }
  }
}
static void r2r_stage_1_task(const void* given, int64_t begin, int64_t end) {
  const struct r2r_stage_1_arguments* a = given;
  r2r_stage_1_part(a->b0, a->b1, a->n0, begin, end);
}
void r2r_stage_1(const float* restrict b0, float* restrict b1, int64_t n0) {
  const struct r2r_stage_1_arguments a = {b0, b1, n0};
  r2r_parallel(r2r_stage_1_task, &a, n0, (n0 * 16) >= 131072, 0);
}

struct r2r_stage_2_arguments { float* b0; const float* b1; int64_t n0; };
static void r2r_stage_2_part(float* restrict b0, const float* restrict b1, int64_t n0, int64_t begin, int64_t end) {
  (void)n0;
  for (int64_t step = begin; step < end; ++step) {
    const int64_t i1 = step;
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      b0[i1 * 8 + i2] = r2r_expf(r2r_max_float(b0[i1 * 8 + i2], 0.0f) - b1[i1]);
    }
  }
}
static void r2r_stage_2_task(const void* given, int64_t begin, int64_t end) {
  const struct r2r_stage_2_arguments* a = given;
  r2r_stage_2_part(a->b0, a->b1, a->n0, begin, end);
}
void r2r_stage_2(float* restrict b0, const float* restrict b1, int64_t n0) {
  const struct r2r_stage_2_arguments a = {b0, b1, n0};
  r2r_parallel(r2r_stage_2_task, &a, n0, (n0 * 104) >= 131072, 0);
}

struct r2r_stage_3_arguments { const float* b0; float* b1; int64_t n0; };
static void r2r_stage_3_part(const float* restrict b0, float* restrict b1, int64_t n0, int64_t begin, int64_t end) {
  (void)n0;
  for (int64_t step = begin; step < end; ++step) {
    const int64_t i1 = step;
    {
      float t2[1] __attribute__((aligned(64), unused));
      t2[0] = 0.0f;
      {
        __attribute__((unused)) floatx8 r3_0;
        r3_0 = 0.0f - (floatx8){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          r3_0 = r3_0 + *(const floatx8*)&b0[i4 * 8 + i1 * 8];
        }
        t2[0] = t2[0] + r2r_across_sum_floatx8(r3_0);
      }
      b1[i1] = t2[0];
    }
  }
}
static void r2r_stage_3_task(const void* given, int64_t begin, int64_t end) {
  const struct r2r_stage_3_arguments* a = given;
  r2r_stage_3_part(a->b0, a->b1, a->n0, begin, end);
}
void r2r_stage_3(const float* restrict b0, float* restrict b1, int64_t n0) {
  const struct r2r_stage_3_arguments a = {b0, b1, n0};
  r2r_parallel(r2r_stage_3_task, &a, n0, (n0 * 8) >= 131072, 0);
}

struct r2r_stage_4_arguments { float* b0; const float* b1; int64_t n0; };
static void r2r_stage_4_part(float* restrict b0, const float* restrict b1, int64_t n0, int64_t begin, int64_t end) {
  (void)n0;
  for (int64_t step = begin; step < end; ++step) {
    const int64_t i1 = step;
    *(floatx8*)&b0[i1 * 8] = *(const floatx8*)&b0[i1 * 8] / b1[i1];
  }
}
static void r2r_stage_4_task(const void* given, int64_t begin, int64_t end) {
  const struct r2r_stage_4_arguments* a = given;
  r2r_stage_4_part(a->b0, a->b1, a->n0, begin, end);
}
void r2r_stage_4(float* restrict b0, const float* restrict b1, int64_t n0) {
  const struct r2r_stage_4_arguments a = {b0, b1, n0};
  r2r_parallel(r2r_stage_4_task, &a, n0, (n0 * 40) >= 131072, 0);
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2, int64_t n0);

void r2r_stage_1(const float* restrict b0, float* restrict b1, int64_t n0);

void r2r_stage_2(float* restrict b0, const float* restrict b1, int64_t n0);

void r2r_stage_3(const float* restrict b0, float* restrict b1, int64_t n0);

void r2r_stage_4(float* restrict b0, const float* restrict b1, int64_t n0);

void r2r_stage_5(float* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 16; ++i1) {
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 8; ++i2) {
      b0[i2 + i1 * 8] = b1[i2 * 16 + i1];
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  const int64_t n0 = s[0]; (void)n0;
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0((void*)((char*)k[0] + 0), a[0], a[1], n0);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1(a[1], (void*)((char*)a[2] + 0), n0);
  if (t) r2r_lap(t, t + 2);
  r2r_stage_2(a[1], (void*)((char*)a[2] + 0), n0);
  if (t) r2r_lap(t, t + 3);
  r2r_stage_3(a[1], (void*)((char*)a[2] + 0), n0);
  if (t) r2r_lap(t, t + 4);
  r2r_stage_4(a[1], (void*)((char*)a[2] + 0), n0);
  if (t) r2r_lap(t, t + 5);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_5((void*)((char*)k[1] + 0), k[0]);
  if (t) r2r_lap(t, t + 1);
  return 0;
}
