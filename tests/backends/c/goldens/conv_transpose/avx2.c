void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2) {
  for (int64_t i1 = 0; i1 < 4; ++i1) {
    {
      float t2[12] __attribute__((aligned(64), unused));
      {
        __attribute__((unused)) floatx4 r3_0, r3_1, r3_2;
        r3_0 = 0.0f - (floatx4){0};
        r3_1 = 0.0f - (floatx4){0};
        r3_2 = 0.0f - (floatx4){0};
        {
          __attribute__((unused)) floatx4 r4_0;
          for (int64_t i5 = 0; i5 < 4; ++i5) {
            r4_0 = *(const floatx4*)&b0[i1 * 4 + i5 * 16];
            r3_0 = r3_0 + b1[i5 * 12] * r4_0;
            r3_1 = r3_1 + b1[i5 * 12 + 4] * r4_0;
            r3_2 = r3_2 + b1[i5 * 12 + 8] * r4_0;
          }
        }
        *(floatx4*)&t2[0] = r3_0;
        *(floatx4*)&t2[4] = r3_1;
        *(floatx4*)&t2[8] = r3_2;
      }
      __asm__ volatile("" ::: "memory");
      for (int64_t i6 = 0; i6 < 3; ++i6) {
        R2R_INDEPENDENT
        for (int64_t i7 = 0; i7 < 4; ++i7) {
          b2[i7 * 2 + i6 * 64 + i1 * 16] = r2r_max_float(t2[i7 + i6 * 4], 0.0f);
        }
      }
    }
  }
}

// The next file.
void r2r_stage_0(const float* restrict b0, const float* restrict b1, float* restrict b2);

R2R_EXPORT int64_t r2r_entry_0(void* const* a, const int64_t* s, void* const* k, double* t) {
  (void)a; (void)s; (void)k;
  if (t) r2r_lap(t, 0);
  r2r_stage_0(a[0], k[0], a[1]);
  if (t) r2r_lap(t, t + 1);
  r2r_stage_0(a[0], (void*)((char*)k[0] + 4), (void*)((char*)a[1] + 4));
  if (t) r2r_lap(t, t + 2);
  r2r_stage_0(a[0], (void*)((char*)k[0] + 8), (void*)((char*)a[1] + 32));
  if (t) r2r_lap(t, t + 3);
  r2r_stage_0(a[0], (void*)((char*)k[0] + 12), (void*)((char*)a[1] + 36));
  if (t) r2r_lap(t, t + 4);
  return 0;
}
