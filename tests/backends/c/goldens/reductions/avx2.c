void r2r_stage_0(const float* restrict b0, float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    {
      float t2[5] __attribute__((aligned(64), unused));
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 5; ++i3) {
        t2[i3] = 0.0f;
      }
      for (int64_t i4 = 0; i4 < 6; ++i4) {
        R2R_INDEPENDENT
        for (int64_t i5 = 0; i5 < 5; ++i5) {
          t2[i5] = t2[i5] + b0[i5 + i1 * 30 + i4 * 5];
        }
      }
      R2R_INDEPENDENT
      for (int64_t i6 = 0; i6 < 5; ++i6) {
        b1[i6 + i1 * 5] = t2[i6];
      }
    }
  }
}

void r2r_stage_1(const float* restrict b0, float* restrict b1) {
  {
    float t1[24] __attribute__((aligned(64), unused));
    *(floatx8*)&t1[0] = -0x1.fffffe0000000p+127f - (floatx8){0};
    *(floatx8*)&t1[8] = -0x1.fffffe0000000p+127f - (floatx8){0};
    *(floatx8*)&t1[16] = -0x1.fffffe0000000p+127f - (floatx8){0};
    for (int64_t i2 = 0; i2 < 5; ++i2) {
      R2R_INDEPENDENT
      for (int64_t i3 = 0; i3 < 24; ++i3) {
        t1[i3] = r2r_max_float(t1[i3], b0[i3 * 5 + i2]);
      }
    }
    *(floatx8*)&b1[0] = *(floatx8*)&t1[0];
    *(floatx8*)&b1[8] = *(floatx8*)&t1[8];
    *(floatx8*)&b1[16] = *(floatx8*)&t1[16];
  }
}

void r2r_stage_2(const float* restrict b0, float* restrict b1) {
  {
    float t1[1] __attribute__((aligned(64), unused));
    t1[0] = 0.0f;
    {
      __attribute__((unused)) floatx8 r2_0, r2_1, r2_2, r2_3;
      r2_0 = 0.0f - (floatx8){0};
      r2_1 = 0.0f - (floatx8){0};
      r2_2 = 0.0f - (floatx8){0};
      r2_3 = 0.0f - (floatx8){0};
      for (int64_t i3 = 0; i3 < 3; ++i3) {
        r2_0 = r2_0 + *(const floatx8*)&b0[i3 * 32];
        r2_1 = r2_1 + *(const floatx8*)&b0[i3 * 32 + 8];
        r2_2 = r2_2 + *(const floatx8*)&b0[i3 * 32 + 16];
        r2_3 = r2_3 + *(const floatx8*)&b0[i3 * 32 + 24];
      }
      for (int64_t i4 = 0; i4 < 3; ++i4) {
        r2_0 = r2_0 + *(const floatx8*)&b0[i4 * 8 + 96];
      }
      r2_0 = r2_0 + r2_1;
      r2_0 = r2_0 + r2_2;
      r2_0 = r2_0 + r2_3;
      t1[0] = t1[0] + r2r_across_sum_floatx8(r2_0);
    }
    b1[0] = t1[0] / 120.0f;
  }
}

void r2r_stage_3(int32_t* restrict b0, const float* restrict b1) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    R2R_APART
    for (int64_t i2 = 0; i2 < 6; ++i2) {
      R2R_APART
      {
        float t3[1] __attribute__((aligned(64), unused));
        for (int64_t i4 = 0; i4 < 5; ++i4) {
          if (i4 == 0) {
            b0[i1 * 6 + i2] = 0;
            t3[0] = -INFINITY;
          }
          {
            const int32_t v5 = (b1[i1 * 30 + i2 * 5 + i4] > t3[0]) || ((b1[i1 * 30 + i2 * 5 + i4] == t3[0]) && ((int32_t)i4 < b0[i1 * 6 + i2])) ? (int32_t)i4 : b0[i1 * 6 + i2];
            {
              const float v6 = (b1[i1 * 30 + i2 * 5 + i4] > t3[0]) || ((b1[i1 * 30 + i2 * 5 + i4] == t3[0]) && ((int32_t)i4 < b0[i1 * 6 + i2])) ? b1[i1 * 30 + i2 * 5 + i4] : t3[0];
              b0[i1 * 6 + i2] = v5;
              t3[0] = v6;
            }
          }
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, float* restrict b1);

void r2r_stage_1(const float* restrict b0, float* restrict b1);

void r2r_stage_2(const float* restrict b0, float* restrict b1);

void r2r_stage_3(int32_t* restrict b0, const float* restrict b1);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], a[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_1(a[0], a[2]);
  if (t) r2r_lap(t, t + 2);
  r2r_stage_2(a[0], a[3]);
  if (t) r2r_lap(t, t + 3);
  r2r_stage_3(a[4], a[0]);
  if (t) r2r_lap(t, t + 4);
  return 0;
}
