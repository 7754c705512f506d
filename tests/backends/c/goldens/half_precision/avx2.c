void r2r_stage_0(const uint16_t* restrict b0, float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 64; ++i1) {
    b1[i1] = (float)r2r_load_float16(b0[i1]);
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, uint16_t* restrict b2) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    {
      float t2[8] __attribute__((aligned(64), unused));
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
        for (int64_t i4 = 0; i4 < 2; ++i4) {
          r3_0 = r3_0 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8];
          r3_1 = r3_1 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 16];
          r3_2 = r3_2 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 32];
          r3_3 = r3_3 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 48];
          r3_4 = r3_4 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 64];
          r3_5 = r3_5 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 80];
          r3_6 = r3_6 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 96];
          r3_7 = r3_7 + *(const floatx8*)&b0[i4 * 8 + i1 * 16] * *(const floatx8*)&b1[i4 * 8 + 112];
        }
        t2[0] = r2r_across_sum_floatx8(r3_0);
        t2[1] = r2r_across_sum_floatx8(r3_1);
        t2[2] = r2r_across_sum_floatx8(r3_2);
        t2[3] = r2r_across_sum_floatx8(r3_3);
        t2[4] = r2r_across_sum_floatx8(r3_4);
        t2[5] = r2r_across_sum_floatx8(r3_5);
        t2[6] = r2r_across_sum_floatx8(r3_6);
        t2[7] = r2r_across_sum_floatx8(r3_7);
      }
      for (int64_t i5 = 0; i5 < 8; ++i5) {
        b2[i5 + i1 * 8] = r2r_store_float16(r2r_expf(r2r_round_float16((float)t2[i5])));
      }
    }
  }
}

// The next file.
void r2r_stage_0(const uint16_t* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, uint16_t* restrict b2);

void r2r_stage_2(const uint16_t* restrict b0, float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 128; ++i1) {
    b1[i1] = (float)r2r_load_float16(b0[i1]);
  }
}

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[2] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)a[2] + 0), (void*)((char*)k[0] + 0), a[1]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
R2R_EXPORT int64_t r2r_entry_0_ahead(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_2(k[0], (void*)((char*)k[1] + 0));
  if (t) r2r_lap(t, t + 1);
  return 0;
}
