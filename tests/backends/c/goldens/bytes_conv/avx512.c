void r2r_stage_0(uint8_t* restrict b0, const uint8_t* restrict b1) {
  for (int64_t i1 = 0; i1 < 7; ++i1) {
    R2R_APART
    for (int64_t i2 = 0; i2 < 7; ++i2) {
      R2R_APART
      if (i1 >= 1) {
        if (i1 < 6) {
          if (i2 >= 1) {
            R2R_INDEPENDENT
            for (int64_t i3 = 0; i3 < 8; ++i3) {
              b0[i3 + i1 * 56 + i2 * 8] = i2 < 6 ? b1[i3 * 25 + i1 * 5 + i2 - 6] : 3;
            }
          }
          else {
            *(uint8_tx8*)&b0[i1 * 56 + i2 * 8] = 3 - (uint8_tx8){0};
          }
        }
        else {
          *(uint8_tx8*)&b0[i1 * 56 + i2 * 8] = 3 - (uint8_tx8){0};
        }
      }
      else {
        *(uint8_tx8*)&b0[i1 * 56 + i2 * 8] = 3 - (uint8_tx8){0};
      }
    }
  }
}

void r2r_stage_1(const int32_t* restrict b0, const uint8_t* restrict b1, const int32_t* restrict b2, const int32_t* restrict b3, uint8_t* restrict b4) {
  for (int64_t i1 = 0; i1 < 5; ++i1) {
    R2R_APART
    {
      int32_t t2[80] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) int32_tx16 r3_0, r3_1, r3_2, r3_3, r3_4;
        r3_0 = 0 - (int32_tx16){0};
        r3_1 = 0 - (int32_tx16){0};
        r3_2 = 0 - (int32_tx16){0};
        r3_3 = 0 - (int32_tx16){0};
        r3_4 = 0 - (int32_tx16){0};
        {
          __attribute__((unused)) int32_tx16 r4_0;
          for (int64_t i5 = 0; i5 < 3; ++i5) {
            for (int64_t i6 = 0; i6 < 3; ++i6) {
              for (int64_t i7 = 0; i7 < 2; ++i7) {
                __builtin_prefetch(&b0[i7 * 16 + i5 * 96 + i6 * 32 + 1024]);
                r4_0 = *(const int32_tx16*)&b0[i7 * 16 + i5 * 96 + i6 * 32];
                r3_0 = r2r_dot4_unsigned_int32_tx16(r3_0, r2r_quad(&b1[i7 * 4 + i1 * 56 + i5 * 56 + i6 * 8]) - (int32_tx16){0}, r4_0);
                r3_1 = r2r_dot4_unsigned_int32_tx16(r3_1, r2r_quad(&b1[i7 * 4 + i1 * 56 + i5 * 56 + i6 * 8 + 8]) - (int32_tx16){0}, r4_0);
                r3_2 = r2r_dot4_unsigned_int32_tx16(r3_2, r2r_quad(&b1[i7 * 4 + i1 * 56 + i5 * 56 + i6 * 8 + 16]) - (int32_tx16){0}, r4_0);
                r3_3 = r2r_dot4_unsigned_int32_tx16(r3_3, r2r_quad(&b1[i7 * 4 + i1 * 56 + i5 * 56 + i6 * 8 + 24]) - (int32_tx16){0}, r4_0);
                r3_4 = r2r_dot4_unsigned_int32_tx16(r3_4, r2r_quad(&b1[i7 * 4 + i1 * 56 + i5 * 56 + i6 * 8 + 32]) - (int32_tx16){0}, r4_0);
              }
            }
          }
        }
        *(int32_tx16*)&t2[0] = r3_0;
        *(int32_tx16*)&t2[16] = r3_1;
        *(int32_tx16*)&t2[32] = r3_2;
        *(int32_tx16*)&t2[48] = r3_3;
        *(int32_tx16*)&t2[64] = r3_4;
      }
      __asm__ volatile("" ::: "memory");
      {
        uint8_t t8[80] __attribute__((aligned(64), unused));
        for (int64_t i9 = 0; i9 < 5; ++i9) {
          R2R_APART
          R2R_INDEPENDENT
          for (int64_t i10 = 0; i10 < 8; ++i10) {
            t8[i10 + i9 * 16] = (uint8_t)(int32_t)r2r_max_float(r2r_min_float((fabsf(r2r_product_float((float)(t2[i10 + i9 * 16] + b2[i10] + b3[i10]) * 0x1.47ae140000000p-7f) - truncf((float)(t2[i10 + i9 * 16] + b2[i10] + b3[i10]) * 0x1.47ae140000000p-7f)) >= 0x1.0000000000000p-1f ? truncf((float)(t2[i10 + i9 * 16] + b2[i10] + b3[i10]) * 0x1.47ae140000000p-7f) + (((float)(t2[i10 + i9 * 16] + b2[i10] + b3[i10]) * 0x1.47ae140000000p-7f) < 0.0f ? -1.0f : 1.0f) : truncf((float)(t2[i10 + i9 * 16] + b2[i10] + b3[i10]) * 0x1.47ae140000000p-7f)) + 5.0f, 255.0f), 0.0f);
          }
        }
        for (int64_t i11 = 0; i11 < 8; ++i11) {
          R2R_INDEPENDENT
          for (int64_t i12 = 0; i12 < 5; ++i12) {
            b4[i11 * 25 + i12 + i1 * 5] = t8[i11 + i12 * 16];
          }
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(uint8_t* restrict b0, const uint8_t* restrict b1);

void r2r_stage_1(const int32_t* restrict b0, const uint8_t* restrict b1, const int32_t* restrict b2, const int32_t* restrict b3, uint8_t* restrict b4);

void r2r_stage_2(const int8_t* restrict b0, int32_t* restrict b1) {
  for (int64_t i1 = 0; i1 < 8; ++i1) {
    {
      int32_t t2[1] __attribute__((aligned(64), unused));
      t2[0] = 0;
      {
        int32_t t3[16] __attribute__((aligned(64), unused));
        *(int32_tx16*)&t3[0] = 0 - (int32_tx16){0};
        for (int64_t i4 = 0; i4 < 4; ++i4) {
          *(int32_tx16*)&t3[0] = *(int32_tx16*)&t3[0] + r2r_wide_int8_tx16(*(const int8_tx16*)&b0[i4 * 16 + i1 * 72]);
        }
        for (int64_t i5 = 0; i5 < 8; ++i5) {
          t2[0] = t2[0] + (int32_t)b0[i5 + i1 * 72 + 64];
        }
        *(int32_tx8*)&t3[0] = *(int32_tx8*)&t3[0] + *(int32_tx8*)&t3[8];
        *(int32_tx4*)&t3[0] = *(int32_tx4*)&t3[0] + *(int32_tx4*)&t3[4];
        *(int32_tx2*)&t3[0] = *(int32_tx2*)&t3[0] + *(int32_tx2*)&t3[2];
        R2R_INDEPENDENT
        for (int64_t i6 = 0; i6 < 1; ++i6) {
          t3[i6] = t3[i6] + t3[i6 + 1];
        }
        t2[0] = t2[0] + t3[0];
      }
      b1[i1] = t2[0] * -3;
    }
  }
}

void r2r_stage_3(int32_t* restrict b0, const int8_t* restrict b1) {
  for (int64_t i1 = 0; i1 < 3; ++i1) {
    R2R_APART
    for (int64_t i2 = 0; i2 < 3; ++i2) {
      R2R_APART
      for (int64_t i3 = 0; i3 < 2; ++i3) {
        R2R_APART
        R2R_INDEPENDENT
        for (int64_t i4 = 0; i4 < 16; ++i4) {
          b0[i4 + i3 * 16 + i1 * 96 + i2 * 32] = i4 < 8 ? ((((int32_t)b1[i4 * 72 + i3 * 36 + i1 * 3 + i2] & 255) | (((int32_t)b1[i4 * 72 + i3 * 36 + i1 * 3 + i2 + 9] & 255) << 8)) | (((int32_t)b1[i4 * 72 + i3 * 36 + i1 * 3 + i2 + 18] & 255) << 16)) | (((int32_t)b1[i4 * 72 + i3 * 36 + i1 * 3 + i2 + 27] & 255) << 24) : 0;
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
  r2r_stage_1((void*)((char*)k[1] + 0), (void*)((char*)a[2] + 0), (void*)((char*)k[1] + 1152), k[0], a[1]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_2(k[0], (void*)((char*)k[1] + 1152));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_3((void*)((char*)k[1] + 0), k[0]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
