void r2r_stage_0(const uint8_t* restrict b0, uint8_t* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 128; ++i1) {
    b1[i1] = b0[i1];
  }
}

void r2r_stage_1(const int32_t* restrict b0, const uint8_t* restrict b1, float* restrict b2, const int32_t* restrict b3, const float* restrict b4) {
  {
    int32_t t1[128] __attribute__((aligned(64), unused));
    {
      __attribute__((unused)) int32_tx16 r2_0, r2_1, r2_2, r2_3, r2_4, r2_5, r2_6, r2_7;
      r2_0 = 0 - (int32_tx16){0};
      r2_1 = 0 - (int32_tx16){0};
      r2_2 = 0 - (int32_tx16){0};
      r2_3 = 0 - (int32_tx16){0};
      r2_4 = 0 - (int32_tx16){0};
      r2_5 = 0 - (int32_tx16){0};
      r2_6 = 0 - (int32_tx16){0};
      r2_7 = 0 - (int32_tx16){0};
      {
        __attribute__((unused)) int32_tx16 r3_0;
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          __builtin_prefetch(&b0[i4 * 16 + 1024]);
          r3_0 = *(const int32_tx16*)&b0[i4 * 16];
          r2_0 = r2r_dot4_unsigned_int32_tx16(r2_0, r2r_quad(&b1[i4 * 4]) - (int32_tx16){0}, r3_0);
          r2_1 = r2r_dot4_unsigned_int32_tx16(r2_1, r2r_quad(&b1[i4 * 4 + 16]) - (int32_tx16){0}, r3_0);
          r2_2 = r2r_dot4_unsigned_int32_tx16(r2_2, r2r_quad(&b1[i4 * 4 + 32]) - (int32_tx16){0}, r3_0);
          r2_3 = r2r_dot4_unsigned_int32_tx16(r2_3, r2r_quad(&b1[i4 * 4 + 48]) - (int32_tx16){0}, r3_0);
          r2_4 = r2r_dot4_unsigned_int32_tx16(r2_4, r2r_quad(&b1[i4 * 4 + 64]) - (int32_tx16){0}, r3_0);
          r2_5 = r2r_dot4_unsigned_int32_tx16(r2_5, r2r_quad(&b1[i4 * 4 + 80]) - (int32_tx16){0}, r3_0);
          r2_6 = r2r_dot4_unsigned_int32_tx16(r2_6, r2r_quad(&b1[i4 * 4 + 96]) - (int32_tx16){0}, r3_0);
          r2_7 = r2r_dot4_unsigned_int32_tx16(r2_7, r2r_quad(&b1[i4 * 4 + 112]) - (int32_tx16){0}, r3_0);
        }
      }
      *(int32_tx16*)&t1[0] = r2_0;
      *(int32_tx16*)&t1[16] = r2_1;
      *(int32_tx16*)&t1[32] = r2_2;
      *(int32_tx16*)&t1[48] = r2_3;
      *(int32_tx16*)&t1[64] = r2_4;
      *(int32_tx16*)&t1[80] = r2_5;
      *(int32_tx16*)&t1[96] = r2_6;
      *(int32_tx16*)&t1[112] = r2_7;
    }
    __asm__ volatile("" ::: "memory");
    for (int64_t i5 = 0; i5 < 8; ++i5) {
      *(floatx8*)&b2[i5 * 8] = r2r_max_floatx8(r2r_converted_int32_tx8(*(int32_tx8*)&t1[i5 * 16] + *(const int32_tx8*)&b3[0]) * (0x1.99999a0000000p-5f * *(const floatx8*)&b4[0]), 0.0f - (floatx8){0});
    }
  }
}

// The next file.
void r2r_stage_0(const uint8_t* restrict b0, uint8_t* restrict b1);

void r2r_stage_1(const int32_t* restrict b0, const uint8_t* restrict b1, float* restrict b2, const int32_t* restrict b3, const float* restrict b4);

void r2r_stage_2(const int8_t* restrict b0, int32_t* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 128; ++i1) {
    b1[i1] = (int32_t)b0[i1];
  }
}

void r2r_stage_3(const int32_t* restrict b0, int8_t* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 128; ++i1) {
    b1[i1] = (int8_t)b0[i1];
  }
}

void r2r_stage_4(const int8_t* restrict b0, int32_t* restrict b1) {
  for (int64_t i1 = 0; i1 < 8; ++i1) {
    {
      int32_t t2[1] __attribute__((aligned(64), unused));
      t2[0] = 0;
      {
        int32_t t3[16] __attribute__((aligned(64), unused));
        *(int32_tx16*)&t3[0] = 0 - (int32_tx16){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          *(int32_tx16*)&t3[0] = *(int32_tx16*)&t3[0] + r2r_wide_int8_tx16(*(const int8_tx16*)&b0[i4 * 16 + i1 * 16]);
        }
        *(int32_tx8*)&t3[0] = *(int32_tx8*)&t3[0] + *(int32_tx8*)&t3[8];
        *(int32_tx4*)&t3[0] = *(int32_tx4*)&t3[0] + *(int32_tx4*)&t3[4];
        *(int32_tx2*)&t3[0] = *(int32_tx2*)&t3[0] + *(int32_tx2*)&t3[2];
        R2R_INDEPENDENT
        for (int64_t i5 = 0; i5 < 1; ++i5) {
          t3[i5] = t3[i5] + t3[i5 + 1];
        }
        t2[0] = t2[0] + t3[0];
      }
      b1[i1] = t2[0] * -3;
    }
  }
}

void r2r_stage_5(int32_t* restrict b0, const int8_t* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    R2R_APART
    R2R_INDEPENDENT
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      b0[i2 + i1 * 16] = i2 < 8 ? r2r_quad(&b1[i2 * 16 + i1 * 4]) : 0;
    }
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[2] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)k[1] + 0), (void*)((char*)a[2] + 0), a[1], (void*)((char*)k[1] + 256), k[0]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_2(k[0], (void*)((char*)k[2] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_3((void*)((char*)k[2] + 0), (void*)((char*)k[2] + 512));
  if (t) r2r_lap(t, t + 2);
  r2r_stage_4((void*)((char*)k[2] + 512), (void*)((char*)k[1] + 256));
  if (t) r2r_lap(t, t + 3);
  r2r_stage_5((void*)((char*)k[1] + 0), (void*)((char*)k[2] + 512));
  if (t) r2r_lap(t, t + 4);
  return 0;
}
