void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  R2R_INDEPENDENT
  for (int64_t i1 = 0; i1 < 24; ++i1) {
    b1[i1] = r2r_expf(b0[i1]);
  }
}

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  for (int64_t i1 = 0; i1 < 2; ++i1) {
    {
      float t2[6] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx8 r3_0, r3_1, r3_2, r3_3, r3_4, r3_5;
        r3_0 = 0.0f - (floatx8){0};
        r3_1 = 0.0f - (floatx8){0};
        r3_2 = 0.0f - (floatx8){0};
        r3_3 = 0.0f - (floatx8){0};
        r3_4 = 0.0f - (floatx8){0};
        r3_5 = 0.0f - (floatx8){0};
        for (int64_t i4 = 0; i4 < 1; ++i4) {
          r3_0 = r3_0 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8];
          r3_1 = r3_1 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8 + 12];
          r3_2 = r3_2 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8 + 24];
          r3_3 = r3_3 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8 + 36];
          r3_4 = r3_4 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8 + 48];
          r3_5 = r3_5 + *(const floatx8*)&b0[i4 * 8 + i1 * 12] * *(const floatx8*)&b1[i4 * 8 + 60];
        }
        t2[0] = r2r_across_sum_floatx8(r3_0);
        t2[1] = r2r_across_sum_floatx8(r3_1);
        t2[2] = r2r_across_sum_floatx8(r3_2);
        t2[3] = r2r_across_sum_floatx8(r3_3);
        t2[4] = r2r_across_sum_floatx8(r3_4);
        t2[5] = r2r_across_sum_floatx8(r3_5);
      }
      for (int64_t i5 = 0; i5 < 4; ++i5) {
        t2[0] = t2[0] + b0[i5 + i1 * 12 + 8] * b1[i5 + 8];
        t2[1] = t2[1] + b0[i5 + i1 * 12 + 8] * b1[i5 + 20];
        t2[2] = t2[2] + b0[i5 + i1 * 12 + 8] * b1[i5 + 32];
        t2[3] = t2[3] + b0[i5 + i1 * 12 + 8] * b1[i5 + 44];
        t2[4] = t2[4] + b0[i5 + i1 * 12 + 8] * b1[i5 + 56];
        t2[5] = t2[5] + b0[i5 + i1 * 12 + 8] * b1[i5 + 68];
      }
      for (int64_t i6 = 0; i6 < 6; ++i6) {
        b2[i6 + i1 * 6] = r2r_max_float(t2[i6], 0.0f);
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, const float* restrict b1, float* restrict b2);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], (void*)((char*)a[2] + 0));
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1((void*)((char*)a[2] + 0), k[0], a[1]);
  if (t) r2r_lap(t, t + 2);
  return 0;
}
