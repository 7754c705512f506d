
typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t; typedef __UINT64_TYPE__ uint64_t; typedef __SIZE_TYPE__ size_t;
void* malloc(size_t); void* calloc(size_t, size_t); void free(void*);
void* memcpy(void*, const void*, size_t); void* memset(void*, int, size_t);
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define isfinite(x) __builtin_isfinite(x)
#define isinf(x) __builtin_isinf(x)
#define isnan(x) __builtin_isnan(x)
#define R2R_OF_ONE(name) double name(double); float name##f(float);
#define R2R_OF_TWO(name) double name(double, double); float name##f(float, float);
R2R_OF_ONE(acos) R2R_OF_ONE(acosh) R2R_OF_ONE(asin) R2R_OF_ONE(asinh) R2R_OF_ONE(atan) R2R_OF_TWO(atan2) R2R_OF_ONE(atanh) R2R_OF_ONE(ceil) R2R_OF_TWO(copysign) R2R_OF_ONE(cos) R2R_OF_ONE(cosh) R2R_OF_ONE(exp2) R2R_OF_ONE(expm1) R2R_OF_ONE(floor) R2R_OF_TWO(fmod) R2R_OF_TWO(hypot) R2R_OF_ONE(log) R2R_OF_ONE(log10) R2R_OF_ONE(log1p) R2R_OF_ONE(log2) R2R_OF_ONE(nearbyint) R2R_OF_ONE(sin) R2R_OF_ONE(sinh) R2R_OF_ONE(sqrt) R2R_OF_ONE(tan) R2R_OF_ONE(trunc) R2R_OF_ONE(erf) R2R_OF_ONE(exp) R2R_OF_ONE(fabs) R2R_OF_TWO(pow) R2R_OF_ONE(tanh)

#if defined(_WIN32)
#define R2R_EXPORT __declspec(dllexport)
#else
#define R2R_EXPORT __attribute__((visibility("default")))
#endif
#if defined(__clang__)
#define R2R_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define R2R_INDEPENDENT _Pragma("GCC ivdep")
#endif
/* gcc 12 makes wrong masks with AVX-512 where it unrolls short loops and makes vectors of the loop around them. The
   steps of a loop with this in its body stay apart. */
#if defined(__GNUC__) && !defined(__clang__)
#define R2R_APART __asm__ volatile("");
/* Functions on wide vectors are parts of their callers: how they would be called does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"
#else
#define R2R_APART
#endif
#define R2R_INLINE static inline __attribute__((always_inline, unused))
#define R2R_VECTOR(type, lanes) \
  typedef type type##x##lanes \
      __attribute__((vector_size(lanes * sizeof(type)), aligned(sizeof(type)), may_alias))

R2R_VECTOR(float, 2); R2R_VECTOR(float, 4); R2R_VECTOR(float, 8); R2R_VECTOR(float, 16);
R2R_VECTOR(double, 2); R2R_VECTOR(double, 4); R2R_VECTOR(double, 8); R2R_VECTOR(double, 16);
R2R_VECTOR(int32_t, 2); R2R_VECTOR(int32_t, 4); R2R_VECTOR(int32_t, 8); R2R_VECTOR(int32_t, 16);
R2R_VECTOR(int8_t, 2); R2R_VECTOR(int8_t, 4); R2R_VECTOR(int8_t, 8); R2R_VECTOR(int8_t, 16);
R2R_VECTOR(uint8_t, 2); R2R_VECTOR(uint8_t, 4); R2R_VECTOR(uint8_t, 8); R2R_VECTOR(uint8_t, 16);
R2R_VECTOR(int64_t, 2); R2R_VECTOR(int64_t, 4); R2R_VECTOR(int64_t, 8); R2R_VECTOR(int64_t, 16);

#define R2R_ORDER(type) \
  R2R_INLINE type r2r_min_##type(type a, type b) { return a < b ? a : b; } \
  R2R_INLINE type r2r_max_##type(type a, type b) { return a > b ? a : b; }
R2R_ORDER(float) R2R_ORDER(double) R2R_ORDER(int8_t) R2R_ORDER(int16_t) R2R_ORDER(int32_t) R2R_ORDER(int64_t)
R2R_ORDER(uint8_t) R2R_ORDER(uint16_t) R2R_ORDER(uint32_t) R2R_ORDER(uint64_t)

/* The same of vectors, lane by lane. */
#define R2R_LANES(type, lanes, bits) \
  R2R_INLINE type##x##lanes r2r_min_##type##x##lanes(type##x##lanes a, type##x##lanes b) { \
    bits##x##lanes m = a < b; return (type##x##lanes)((m & (bits##x##lanes)a) | (~m & (bits##x##lanes)b)); } \
  R2R_INLINE type##x##lanes r2r_max_##type##x##lanes(type##x##lanes a, type##x##lanes b) { \
    bits##x##lanes m = a > b; return (type##x##lanes)((m & (bits##x##lanes)a) | (~m & (bits##x##lanes)b)); }
/* In one instruction, which gives b where neither is less, as above. */
#define R2R_ORDER_AS(in, lanes) \
  R2R_INLINE floatx##lanes r2r_min_floatx##lanes(floatx##lanes a, floatx##lanes b) { \
    __asm__("vminps %2, %1, %0" : "=" in (a) : in (a), in (b)); return a; } \
  R2R_INLINE floatx##lanes r2r_max_floatx##lanes(floatx##lanes a, floatx##lanes b) { \
    __asm__("vmaxps %2, %1, %0" : "=" in (a) : in (a), in (b)); return a; }
R2R_LANES(float, 2, int32_t)
#if defined(__x86_64__) && defined(__AVX__)
R2R_ORDER_AS("x", 4) R2R_ORDER_AS("x", 8)
#else
R2R_LANES(float, 4, int32_t) R2R_LANES(float, 8, int32_t)
#endif
#if defined(__x86_64__) && defined(__AVX512F__)
R2R_ORDER_AS("v", 16)
#else
R2R_LANES(float, 16, int32_t)
#endif
R2R_LANES(double, 2, int64_t) R2R_LANES(double, 4, int64_t) R2R_LANES(double, 8, int64_t)
R2R_LANES(double, 16, int64_t)
R2R_LANES(int32_t, 2, int32_t) R2R_LANES(int32_t, 4, int32_t) R2R_LANES(int32_t, 8, int32_t)
R2R_LANES(int32_t, 16, int32_t)

/* The sum, the least and the largest of a vector's lanes, halves put to halves. */
#define R2R_ADD(type) R2R_INLINE type r2r_sum_##type(type a, type b) { return a + b; }
#define R2R_ADD_LANES(type, lanes) \
  R2R_INLINE type##x##lanes r2r_sum_##type##x##lanes(type##x##lanes a, type##x##lanes b) { return a + b; }
R2R_ADD(float) R2R_ADD_LANES(float, 2) R2R_ADD_LANES(float, 4) R2R_ADD_LANES(float, 8)
R2R_ADD(double) R2R_ADD_LANES(double, 2) R2R_ADD_LANES(double, 4) R2R_ADD_LANES(double, 8)
R2R_ADD(int32_t) R2R_ADD_LANES(int32_t, 2) R2R_ADD_LANES(int32_t, 4) R2R_ADD_LANES(int32_t, 8)
#define R2R_ACROSS_TWO(op, type) \
  R2R_INLINE type r2r_across_##op##_##type##x2(type##x2 v) { return r2r_##op##_##type(v[0], v[1]); }
#define R2R_ACROSS(op, type, lanes, half) \
  R2R_INLINE type r2r_across_##op##_##type##x##lanes(type##x##lanes v) { \
    type##x##half low, high; \
    memcpy(&low, &v, sizeof low); memcpy(&high, (const char*)&v + sizeof low, sizeof high); \
    return r2r_across_##op##_##type##x##half(r2r_##op##_##type##x##half(low, high)); }
#define R2R_ACROSS_ALL(op, type) R2R_ACROSS_TWO(op, type) \
  R2R_ACROSS(op, type, 4, 2) R2R_ACROSS(op, type, 8, 4) R2R_ACROSS(op, type, 16, 8)
R2R_ACROSS_ALL(sum, float) R2R_ACROSS_ALL(min, float) R2R_ACROSS_ALL(max, float)
R2R_ACROSS_ALL(sum, double) R2R_ACROSS_ALL(min, double) R2R_ACROSS_ALL(max, double)
R2R_ACROSS_ALL(sum, int32_t)

/* A product that is rounded on its own: compilers do not make one operation of it and a sum. */
R2R_INLINE float r2r_product_float(float p) { return p == p ? p : NAN; }
R2R_INLINE double r2r_product_double(double p) { return p == p ? p : NAN; }
/* What C leaves undefined, as core/arithmetic.py defines it. Floats that become integers: what is not a number, or lies
   outside, gives the smallest number of int32 and int64, and the low bits of that in other types. */
#define R2R_TRUNCATE(from) \
  R2R_INLINE int32_t r2r_##from##_to_int32(from x) { \
    return x >= (from)-0x1p31 && x < (from)0x1p31 ? (int32_t)x : -0x7fffffff - 1; } \
  R2R_INLINE int64_t r2r_##from##_to_int64(from x) { \
    return x >= (from)-0x1p63 && x < (from)0x1p63 ? (int64_t)x : -0x7fffffffffffffff - 1; } \
  R2R_INLINE int8_t r2r_##from##_to_int8(from x) { return (int8_t)r2r_##from##_to_int32(x); } \
  R2R_INLINE int16_t r2r_##from##_to_int16(from x) { return (int16_t)r2r_##from##_to_int32(x); } \
  R2R_INLINE uint8_t r2r_##from##_to_uint8(from x) { return (uint8_t)r2r_##from##_to_int32(x); } \
  R2R_INLINE uint16_t r2r_##from##_to_uint16(from x) { return (uint16_t)r2r_##from##_to_int32(x); } \
  R2R_INLINE uint32_t r2r_##from##_to_uint32(from x) { return (uint32_t)r2r_##from##_to_int64(x); } \
  R2R_INLINE uint64_t r2r_##from##_to_uint64(from x) { \
    if (x >= (from)0x1p63) return x < (from)0x1p64 ? (uint64_t)x : 0; \
    return x >= (from)-0x1p63 ? (uint64_t)(int64_t)x : 0; }
R2R_TRUNCATE(float) R2R_TRUNCATE(double)

/* Division by zero gives 0, and leaves 0; the smallest number divided by -1 is itself. Shifts by a negative number of
   places, or by as many as there are bits, shift everything out. */
#define R2R_UNSIGNED(type, width) \
  R2R_INLINE type r2r_truncdiv_##type(type a, type b) { return b ? (type)(a / b) : 0; } \
  R2R_INLINE type r2r_truncmod_##type(type a, type b) { return b ? (type)(a % b) : 0; } \
  R2R_INLINE type r2r_shl_##type(type a, type b) { return b < width ? (type)(a << b) : 0; } \
  R2R_INLINE type r2r_shr_##type(type a, type b) { return b < width ? (type)(a >> b) : 0; }
R2R_UNSIGNED(uint8_t, 8) R2R_UNSIGNED(uint16_t, 16) R2R_UNSIGNED(uint32_t, 32) R2R_UNSIGNED(uint64_t, 64)
#define R2R_SIGNED(type, width) \
  R2R_INLINE type r2r_truncdiv_##type(type a, type b) { \
    return b == 0 ? 0 : b == -1 ? (type)(0 - (u##type)a) : (type)(a / b); } \
  R2R_INLINE type r2r_truncmod_##type(type a, type b) { return b == 0 || b == -1 ? 0 : (type)(a % b); } \
  R2R_INLINE type r2r_shl_##type(type a, type b) { \
    return (u##type)b < width ? (type)((u##type)a << b) : 0; } \
  R2R_INLINE type r2r_shr_##type(type a, type b) { \
    return (type)(a >> ((u##type)b < width ? b : width - 1)); }
R2R_SIGNED(int8_t, 8) R2R_SIGNED(int16_t, 16) R2R_SIGNED(int32_t, 32) R2R_SIGNED(int64_t, 64)

/* An index where it lies within [0, n), else 0: wrong gets the number of the place, the index and n. The first such
   index of all threads is kept. */
static __attribute__((unused, noinline, cold)) void r2r_outside(int64_t i, int64_t n, int64_t* wrong, int64_t site) {
  int64_t none = 0;
  if (!__atomic_compare_exchange_n(wrong, &none, site, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  wrong[1] = i;
  wrong[2] = n;
}
R2R_INLINE int64_t r2r_within(int64_t i, int64_t n, int64_t* wrong, int64_t site) {
  if (__builtin_expect(i >= 0 && i < n, 1)) return i;
  r2r_outside(i, n, wrong, site);
  return 0;
}

/* The address of lanes elements from element i on, where memory has as many among its n; else that of some other
   memory. */
static __attribute__((unused, noinline)) void* r2r_checked(
    const void* memory, int64_t i, int64_t lanes, int64_t n, size_t size, int64_t* wrong, int64_t site) {
  static _Thread_local char elsewhere[128] __attribute__((aligned(64)));
  if (i >= 0 && i <= n - lanes) return (char*)memory + (size_t)i * size;
  r2r_outside(i, n, wrong, site);
  return memset(elsewhere, 0, sizeof elsewhere);
}

/* Memory of a kernel's own, size bytes of zeros, where most, which no part of the computation of size exceeds, and
   wrong[3], the bytes that are left, allow it; else a null pointer, and wrong has the site, the size, and -1. */
static __attribute__((unused, noinline)) void* r2r_local(double most, uint64_t size, int64_t* wrong, int64_t site) {
  void* found = 0;
  const int64_t least = most < 0x1p62 ? (int64_t)(size >> 62 ? (uint64_t)most : size) : 0x7fffffffffffffff;
  if (most < 0x1p62 && size < (uint64_t)1 << (sizeof(size_t) > 4 ? 62 : 31)) {
    if (__atomic_sub_fetch(wrong + 3, (int64_t)size, __ATOMIC_RELAXED) >= 0 || !size)
      found = calloc(size ? (size_t)size : 1, 1);
    if (!found) __atomic_add_fetch(wrong + 3, (int64_t)size, __ATOMIC_RELAXED);
  }
  if (!found) r2r_outside(least, -1, wrong, site);
  return found;
}
static __attribute__((unused, noinline)) void r2r_release(void* memory, uint64_t size, int64_t* wrong) {
  if (!memory) return;
  free(memory);
  __atomic_add_fetch(wrong + 3, (int64_t)size, __ATOMIC_RELAXED);
}

/* How many rounds of a loop are about a million steps, of which one round takes so many. */
R2R_INLINE int64_t r2r_piece(double steps) {
  return steps > 1.0 ? steps < 0x1p20 ? (int64_t)(0x1p20 / steps) : 1 : 1 << 20;
}

/* Division and remainder that round towards minus infinity. */
#define R2R_FLOOR(type) \
  R2R_INLINE type r2r_floordiv_##type(type a, type b) { \
    type q = r2r_truncdiv_##type(a, b), r = r2r_truncmod_##type(a, b); \
    return (type)(q - ((r != 0) & ((r < 0) != (b < 0)))); } \
  R2R_INLINE type r2r_floormod_##type(type a, type b) { \
    type r = r2r_truncmod_##type(a, b); return (type)(r + (((r != 0) & ((r < 0) != (b < 0))) ? b : 0)); }
R2R_FLOOR(int8_t) R2R_FLOOR(int16_t) R2R_FLOOR(int32_t) R2R_FLOOR(int64_t)
R2R_INLINE float r2r_floormod_float(float a, float b) { return a - r2r_product_float(floorf(a / b) * b); }
R2R_INLINE double r2r_floormod_double(double a, double b) { return a - r2r_product_double(floor(a / b) * b); }

/* The bits of a number as another type of the same width. */
#define R2R_AS(from, to) \
  R2R_INLINE to r2r_##from##_as_##to(from x) { to y; memcpy(&y, &x, sizeof y); return y; }
R2R_AS(float, int32_t) R2R_AS(float, uint32_t) R2R_AS(int32_t, float) R2R_AS(uint32_t, float)
R2R_AS(double, int64_t) R2R_AS(double, uint64_t) R2R_AS(int64_t, double) R2R_AS(uint64_t, double)

R2R_INLINE float r2r_bits_float(int32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }
R2R_INLINE int32_t r2r_float_bits(float x) { int32_t y; memcpy(&y, &x, sizeof y); return y; }
R2R_INLINE double r2r_bits_double(int64_t x) { double y; memcpy(&y, &x, sizeof y); return y; }
R2R_INLINE int64_t r2r_double_bits(double x) { int64_t y; memcpy(&y, &x, sizeof y); return y; }

/* Half precision: numbers are stored in 16 bits, and are floats while they are computed with. All of it is
   arithmetic on bits without branches, so that any compiler makes vectors of it. */
R2R_INLINE float r2r_load_float16(uint16_t h) {
  uint32_t a = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t normal = (a << 13) + (a >= 0x7c00u ? 224u << 23 : 112u << 23);
  uint32_t small = (uint32_t)r2r_float_bits((float)(int32_t)a * 0x1p-24f);
  return r2r_bits_float((int32_t)(sign | (a < 0x400u ? small : normal)));
}
R2R_INLINE uint16_t r2r_store_float16(float x) {
  uint32_t w = (uint32_t)r2r_float_bits(x), a = w & 0x7fffffffu;
  uint32_t normal = ((a + 0xfffu + ((a >> 13) & 1u)) >> 13) - (112u << 10);
  normal = normal > 0x7c00u ? 0x7c00u : normal;
  /* Next to a half, the unit in the last place of a float is the smallest number of half precision. */
  uint32_t small = (uint32_t)r2r_float_bits(r2r_bits_float((int32_t)a) + 0.5f) - 0x3f000000u;
  uint32_t finite = a < 0x38800000u ? small : normal;
  return (uint16_t)(((w >> 16) & 0x8000u) | (a > 0x7f800000u ? 0x7e00u | ((a >> 13) & 0x3ffu) : finite));
}
R2R_INLINE float r2r_load_bfloat16(uint16_t h) { return r2r_bits_float((int32_t)((uint32_t)h << 16)); }
R2R_INLINE uint16_t r2r_store_bfloat16(float x) {
  uint32_t w = (uint32_t)r2r_float_bits(x), rounded = w + 0x7fffu + (w >> 16 & 1u);
  return (uint16_t)(((w & 0x7fffffffu) > 0x7f800000u ? w | 0x400000u : rounded) >> 16);
}
R2R_INLINE float r2r_round_float16(float x) { return r2r_load_float16(r2r_store_float16(x)); }
R2R_INLINE float r2r_round_bfloat16(float x) { return r2r_load_bfloat16(r2r_store_bfloat16(x)); }
/* Floats of eight bits: how many are of the mantissa, the bias, the code of the greatest number, those of what is
   greater and of NaN, and the bit of the sign of zero, NaN and infinity. */
#define R2R_FLOAT8(name, mantissa, bias, last, over, nan, zero) \
  R2R_INLINE float r2r_load_##name(uint8_t h) { \
    uint32_t a = h & 0x7fu, sign = (uint32_t)(h & 0x80u) << 24; \
    uint32_t normal = (a << (23 - mantissa)) + ((127u - bias) << 23); \
    float small = (float)(int32_t)a * r2r_bits_float((128 - bias - mantissa) << 23); \
    uint32_t finite = a < (1u << mantissa) ? (uint32_t)r2r_float_bits(small) : normal; \
    uint32_t infinite = over != nan && a == (over & 0x7fu) ? 0x7f800000u : 0x7fc00000u; \
    return r2r_bits_float((int32_t)(sign | (h == nan || a > last ? infinite : finite))); } \
  R2R_INLINE uint8_t r2r_store_##name(float x) { \
    uint32_t w = (uint32_t)r2r_float_bits(x), a = w & 0x7fffffffu, sign = (w >> 24) & 0x80u; \
    uint32_t half = (1u << (22 - mantissa)) - 1u + ((a >> (23 - mantissa)) & 1u); \
    uint32_t normal = ((a + half) >> (23 - mantissa)) - ((127u - bias) << mantissa); \
    int32_t unit = (151 - bias - mantissa) << 23; \
    uint32_t small = (uint32_t)(r2r_float_bits(r2r_bits_float((int32_t)a) + r2r_bits_float(unit)) - unit); \
    uint32_t finite = a < ((128u - bias) << 23) ? small : normal; \
    if (a > 0x7f800000u) return (uint8_t)(nan | (sign & zero)); \
    if (a == 0x7f800000u || finite > last) return (uint8_t)(over | (sign & zero)); \
    return (uint8_t)(finite | (finite ? sign : sign & zero)); } \
  R2R_INLINE float r2r_round_##name(float x) { return r2r_load_##name(r2r_store_##name(x)); }
R2R_FLOAT8(float8_e4m3, 3, 7, 0x77u, 0x78u, 0x7cu, 0x80u) R2R_FLOAT8(float8_e4m3fn, 3, 7, 0x7eu, 0x7fu, 0x7fu, 0x80u)
R2R_FLOAT8(float8_e5m2, 2, 15, 0x7bu, 0x7cu, 0x7eu, 0x80u) R2R_FLOAT8(float8_e4m3fnuz, 3, 8, 0x7fu, 0x80u, 0x80u, 0u)
R2R_FLOAT8(float8_e5m2fnuz, 2, 16, 0x7fu, 0x80u, 0x80u, 0u)
/* A power of two, in eight bits of exponent. */
R2R_INLINE float r2r_load_float8_e8m0fnu(uint8_t h) {
  return r2r_bits_float(h == 0xffu ? 0x7fc00000 : h ? (int32_t)h << 23 : 0x00400000);
}
R2R_INLINE uint8_t r2r_store_float8_e8m0fnu(float x) {
  uint32_t w = (uint32_t)r2r_float_bits(x);
  return (uint8_t)(w - 1u >= 0x7f7fffffu ? 0xffu : (w + 0x400000u) >> 23);
}
R2R_INLINE float r2r_round_float8_e8m0fnu(float x) { return r2r_load_float8_e8m0fnu(r2r_store_float8_e8m0fnu(x)); }
/* A double as the float next to it, towards zero, its last bit set where something was cut off: rounded once more
   that gives what one rounding would. */
R2R_INLINE float r2r_sticky_float(double x) {
  float f = (float)x;
  int32_t bits = r2r_float_bits(f) - (fabs((double)f) > fabs(x));
  return (double)f == x || x != x ? f : r2r_bits_float(bits | 1);
}

/* exp: 2^n * e^r with r in [-ln2/2, ln2/2]; this is e^r. */
R2R_INLINE float r2r_exp_rest(float x, int32_t* n) {
  float k = (x * 0x1.715476p+0f + 0x1.8p+23f) - 0x1.8p+23f;
  float r = x - k * 0x1.62e4p-1f;
  r = r - k * 0x1.7f7d1cp-20f;
  float p = 0x1.6a234ep-10f;
  p = p * r + 0x1.123a6cp-7f;
  p = p * r + 0x1.5558f4p-5f;
  p = p * r + 0x1.555490p-3f;
  p = p * r + 0x1.fffffcp-2f;
  *n = (int32_t)k;
  return (p * r) * r + r + 1.0f;
}
/* The power is applied in two factors, so that subnormal results and infinity come out right. */
R2R_INLINE float r2r_expf(float x) {
  /* What is not a number becomes one here: it is looked at again in the end. */
  float c = x > -104.0f ? x : -104.0f;
  c = c > 89.0f ? 89.0f : c;
  int32_t n;
  float p = r2r_exp_rest(c, &n);
  int32_t h = n >> 1;
  p = p * r2r_bits_float((h + 127) << 23) * r2r_bits_float((n - h + 127) << 23);
  return x != x ? x : p;
}
/* exp of what lies between -80 and 80. */
R2R_INLINE float r2r_near_expf(float x) {
  int32_t n;
  float p = r2r_exp_rest(x, &n);
  return p * r2r_bits_float((n + 127) << 23);
}
R2R_INLINE float r2r_tanhf(float x) {
  float a = fabsf(x), z = a * a;
  float p = -0x1.76abf6p-8f;
  p = p * z + 0x1.5256cep-6f;
  p = p * z + -0x1.b84448p-5f;
  p = p * z + 0x1.110768p-3f;
  p = p * z + -0x1.555534p-2f;
  float small = a + a * (z * p);
  float large = 1.0f - 2.0f / (r2r_near_expf(2.0f * (a < 10.0f ? a : 10.0f)) + 1.0f);
  float y = a < 0.625f ? small : large;
  return copysignf(x != x ? x : y, x);
}
R2R_INLINE float r2r_erff(float x) {
  float a = fabsf(x), z = a * a;
  float p = 0x1.5cd4aap-14f;
  p = p * z + -0x1.aa3f2cp-11f;
  p = p * z + 0x1.54c7f4p-8f;
  p = p * z + -0x1.b80e90p-6f;
  p = p * z + 0x1.ce2e0ap-4f;
  p = p * z + -0x1.812742p-2f;
  p = p * z + 0x1.06eba8p-3f;
  float small = a + a * p;
  float b = a < 4.0f ? a : 4.0f;
  float q = -0x1.4b65e8p-18f;
  q = q * b + 0x1.7e5ce2p-15f;
  q = q * b + 0x1.9ff69ap-15f;
  q = q * b + -0x1.800fc4p-9f;
  q = q * b + 0x1.737e3ap-6f;
  q = q * b + -0x1.af27f0p-4f;
  q = q * b + -0x1.4570aep-1f;
  q = q * b + -0x1.20e8c4p+0f;
  float large = 1.0f - r2r_near_expf(b * q);
  float y = a < 0.9277344f ? small : large;
  return copysignf(x != x ? x : y, x);
}
R2R_INLINE float r2r_sigmoidf(float x) { return 1.0f / (1.0f + r2r_expf(-x)); }
R2R_INLINE double r2r_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
R2R_INLINE float r2r_rsqrtf(float x) { return 1.0f / sqrtf(x); }
R2R_INLINE double r2r_rsqrt(double x) { return 1.0 / sqrt(x); }
R2R_INLINE float r2r_exp10f(float x) { return powf(10.0f, x); }
R2R_INLINE double r2r_exp10(double x) { return pow(10.0, x); }
R2R_INLINE int64_t r2r_powi(int64_t x, int64_t n) {
  int64_t r = n < 0 ? (x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0) : 1;
  for (; n > 0; n >>= 1) { if (n & 1) r *= x; x *= x; }
  return r;
}


R2R_INLINE int32_t r2r_quad(const void* p) { int32_t q; memcpy(&q, p, sizeof q); return q; }
R2R_INLINE int32_t r2r_dot4_unsigned(int32_t sum, int32_t a, int32_t b) {
  for (int j = 0; j < 32; j += 8) sum += (uint8_t)(a >> j) * (int8_t)(b >> j);
  return sum; }
R2R_INLINE int32_t r2r_dot4_signed(int32_t sum, int32_t a, int32_t b) {
  for (int j = 0; j < 32; j += 8) sum += (int8_t)(a >> j) * (int8_t)(b >> j);
  return sum; }
R2R_INLINE int32_t r2r_dot1(int32_t sum, int32_t a, int32_t b) { return sum + a * b; }
/* Four products, one byte of each lane after the other. */
#define R2R_BYTES(lanes) \
  R2R_INLINE int32_tx##lanes r2r_signed_int32_tx##lanes(int32_tx##lanes v, int j) { return (v << (24 - j)) >> 24; } \
  R2R_INLINE int32_tx##lanes r2r_unsigned_int32_tx##lanes(int32_tx##lanes v, int j) { return (v >> j) & 255; }
#define R2R_DOT(sign, lanes) \
  R2R_INLINE int32_tx##lanes r2r_dot4_##sign##_int32_tx##lanes( \
      int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    for (int j = 0; j < 32; j += 8) \
      sum += r2r_##sign##_int32_tx##lanes(a, j) * r2r_signed_int32_tx##lanes(b, j); \
    return sum; }
/* The same in one instruction, or by two sums of two products of 16 bits, of bytes 0 and 2, and 1 and 3. */
#define R2R_DOT_AS(text, sign, lanes) \
  R2R_INLINE int32_tx##lanes r2r_dot4_##sign##_int32_tx##lanes( \
      int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    __asm__(text : "+" R2R_IN(lanes) (sum) : R2R_IN(lanes) (a), R2R_IN(lanes) (b)); return sum; }
#define R2R_DOT_PAIRS(code, in, first, lanes) \
  typedef int16_t r2r_halves##lanes __attribute__((vector_size(lanes * 4))); \
  typedef uint16_t r2r_naturals##lanes __attribute__((vector_size(lanes * 4))); \
  R2R_INLINE int32_tx##lanes r2r_pairs_int32_tx##lanes(int32_tx##lanes a, r2r_halves##lanes b) { \
    int32_tx##lanes sum; \
    __asm__(code : "=" in (sum) : first (a), in (b)); return sum; } \
  R2R_INLINE int32_tx##lanes r2r_dot4_unsigned_int32_tx##lanes( \
      int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    const r2r_halves##lanes wide = (r2r_halves##lanes)b; \
    /* One number for all lanes is taken apart in a vector register, not before. */ \
    __asm__("" : "=" in (a) : "0" (a)); \
    sum += r2r_pairs_int32_tx##lanes(a & 0xff00ff, (wide << 8) >> 8); \
    return sum + r2r_pairs_int32_tx##lanes((int32_tx##lanes)((r2r_naturals##lanes)a >> 8), wide >> 8); }
#define R2R_WIDE(type, lanes) \
  R2R_INLINE int32_tx##lanes r2r_wide_##type##x##lanes(type##x##lanes v) { \
    return __builtin_convertvector(v, int32_tx##lanes); }
/* gcc 12 takes the vector apart for that, unless told the instruction. */
#define R2R_WIDE_AS(text, in, type, lanes) \
  R2R_INLINE int32_tx##lanes r2r_wide_##type##x##lanes(type##x##lanes v) { \
    int32_tx##lanes wide; \
    __asm__(text " %1, %0" : "=" in (wide) : in "m" (v)); return wide; }
R2R_WIDE(uint8_t, 2) R2R_WIDE(uint8_t, 4) R2R_WIDE(int8_t, 2) R2R_WIDE(int8_t, 4)
#if defined(__x86_64__) && defined(__AVX512VL__)
R2R_WIDE_AS("vpmovzxbd", "v", uint8_t, 8) R2R_WIDE_AS("vpmovsxbd", "v", int8_t, 8)
R2R_WIDE_AS("vpmovzxbd", "v", uint8_t, 16) R2R_WIDE_AS("vpmovsxbd", "v", int8_t, 16)
#elif defined(__x86_64__) && defined(__AVX2__)
R2R_WIDE_AS("vpmovzxbd", "x", uint8_t, 8) R2R_WIDE_AS("vpmovsxbd", "x", int8_t, 8)
R2R_WIDE(uint8_t, 16) R2R_WIDE(int8_t, 16)
#else
R2R_WIDE(uint8_t, 8) R2R_WIDE(int8_t, 8) R2R_WIDE(uint8_t, 16) R2R_WIDE(int8_t, 16)
#endif
/* The low bytes of numbers. */
#define R2R_NARROW(type, lanes) \
  R2R_INLINE type##x##lanes r2r_narrow_##type##_int32_tx##lanes(int32_tx##lanes v) { \
    return __builtin_convertvector(v, type##x##lanes); }
#define R2R_NARROW_EIGHT(type) \
  R2R_INLINE type##x8 r2r_narrow_##type##_int32_tx8(int32_tx8 v) { \
    int32_tx8 low = v & 255; int32_tx4 bytes, high; type##x8 narrow; \
    __asm__("vextracti128 $1, %1, %0" : "=x" (high) : "x" (low)); \
    __asm__("vpackusdw %2, %x1, %0" : "=x" (bytes) : "x" (low), "x" (high)); \
    __asm__("vpackuswb %0, %0, %0" : "+x" (bytes)); \
    memcpy(&narrow, &bytes, sizeof narrow); return narrow; }
R2R_NARROW(uint8_t, 2) R2R_NARROW(uint8_t, 4) R2R_NARROW(int8_t, 2) R2R_NARROW(int8_t, 4)
R2R_NARROW(uint8_t, 16) R2R_NARROW(int8_t, 16)
#if defined(__x86_64__) && defined(__AVX2__) && !defined(__AVX512VL__)
R2R_NARROW_EIGHT(uint8_t) R2R_NARROW_EIGHT(int8_t)
#else
R2R_NARROW(uint8_t, 8) R2R_NARROW(int8_t, 8)
#endif
/* Integers as floats, floats as the integers next to zero, which they fit into, and the integers next to them. */
#define R2R_ROUND(lanes) \
  R2R_INLINE floatx##lanes r2r_nearbyint_floatx##lanes(floatx##lanes v) { \
    for (int i = 0; i < lanes; ++i) v[i] = nearbyintf(v[i]); \
    return v; }
#define R2R_ROUND_AS(text, in, lanes) \
  R2R_INLINE floatx##lanes r2r_nearbyint_floatx##lanes(floatx##lanes v) { \
    __asm__(text : "+" in (v)); return v; }
#define R2R_NEAREST(lanes) \
  R2R_INLINE int32_tx##lanes r2r_nearest_int32_tx##lanes(floatx##lanes v) { \
    return __builtin_convertvector(r2r_nearbyint_floatx##lanes(v), int32_tx##lanes); }
#define R2R_NEAREST_AS(text, in, lanes) \
  R2R_INLINE int32_tx##lanes r2r_nearest_int32_tx##lanes(floatx##lanes v) { \
    int32_tx##lanes n; __asm__(text : "=" in (n) : in (v)); return n; }
/* a / b where y is next to 1 / b (quotients.py). */
#define R2R_QUOTIENT(lanes) \
  R2R_INLINE floatx##lanes r2r_quotient_floatx##lanes(floatx##lanes a, floatx##lanes b, floatx##lanes y) { \
    (void)y; return a / b; }
#define R2R_QUOTIENT_AS(less, more, in, lanes) \
  R2R_INLINE floatx##lanes r2r_quotient_floatx##lanes(floatx##lanes a, floatx##lanes b, floatx##lanes y) { \
    floatx##lanes q = a * y; \
    __asm__(less : "+" in (a) : in (q), in (b)); \
    __asm__(more : "+" in (q) : in (a), in (y)); return q; }
#define R2R_CONVERT(lanes) \
  R2R_INLINE floatx##lanes r2r_converted_int32_tx##lanes(int32_tx##lanes v) { \
    return __builtin_convertvector(v, floatx##lanes); } \
  R2R_INLINE int32_tx##lanes r2r_truncated_floatx##lanes(floatx##lanes v) { \
    return __builtin_convertvector(v, int32_tx##lanes); }
R2R_CONVERT(2) R2R_CONVERT(4) R2R_CONVERT(8) R2R_CONVERT(16)
R2R_ROUND(2)
R2R_QUOTIENT(2)
#if defined(__x86_64__) && defined(__FMA__)
R2R_QUOTIENT_AS("vfnmadd231ps %2, %1, %0", "vfmadd231ps %2, %1, %0", "x", 4)
R2R_QUOTIENT_AS("vfnmadd231ps %2, %1, %0", "vfmadd231ps %2, %1, %0", "x", 8)
#elif defined(__aarch64__)
R2R_QUOTIENT_AS("fmls %0.4s, %1.4s, %2.4s", "fmla %0.4s, %1.4s, %2.4s", "w", 4) R2R_QUOTIENT(8)
#else
R2R_QUOTIENT(4) R2R_QUOTIENT(8)
#endif
#if defined(__x86_64__) && defined(__AVX512F__)
R2R_QUOTIENT_AS("vfnmadd231ps %2, %1, %0", "vfmadd231ps %2, %1, %0", "v", 16)
#else
R2R_QUOTIENT(16)
#endif
#if defined(__x86_64__) && defined(__AVX2__)
R2R_ROUND_AS("vroundps $12, %0, %0", "x", 4) R2R_ROUND_AS("vroundps $12, %0, %0", "x", 8)
#elif defined(__aarch64__)
R2R_ROUND_AS("frinti %0.4s, %0.4s", "w", 4) R2R_ROUND(8)
#else
R2R_ROUND(4) R2R_ROUND(8)
#endif
#if defined(__x86_64__) && defined(__AVX512F__)
R2R_ROUND_AS("vrndscaleps $12, %0, %0", "v", 16)
R2R_NEAREST_AS("vcvtps2dq %1, %0", "v", 16)
#else
R2R_ROUND(16) R2R_NEAREST(16)
#endif
R2R_NEAREST(2)
#if defined(__x86_64__) && defined(__AVX2__)
R2R_NEAREST_AS("vcvtps2dq %1, %0", "x", 4) R2R_NEAREST_AS("vcvtps2dq %1, %0", "x", 8)
#elif defined(__aarch64__)
R2R_NEAREST_AS("fcvtns %0.4s, %1.4s", "w", 4) R2R_NEAREST(8)
#else
R2R_NEAREST(4) R2R_NEAREST(8)
#endif
/* A sum and products of numbers that fit into 16 bits. */
#define R2R_MULTIPLY_ADD(lanes) \
  R2R_INLINE int32_tx##lanes r2r_dot1_int32_tx##lanes(int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    return sum + a * b; }
#define R2R_MULTIPLY_ADD_AS(text, lanes) \
  R2R_INLINE int32_tx##lanes r2r_dot1_int32_tx##lanes(int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    __asm__(text : "+" R2R_IN(lanes) (sum) : R2R_IN(lanes) (a), R2R_IN(lanes) (b)); return sum; }
/* Of which the first is not negative: the upper halves of the lanes then add nothing. */
#define R2R_MULTIPLY_ADD_PAIRS(lanes) \
  R2R_INLINE int32_tx##lanes r2r_dot1_int32_tx##lanes(int32_tx##lanes sum, int32_tx##lanes a, int32_tx##lanes b) { \
    return sum + r2r_pairs_int32_tx##lanes(a, (r2r_halves##lanes)b); }
R2R_MULTIPLY_ADD(2)
R2R_BYTES(2) R2R_BYTES(4) R2R_BYTES(8) R2R_BYTES(16)
R2R_DOT(unsigned, 2) R2R_DOT(signed, 2)
#if defined(__x86_64__) && defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define R2R_IN(lanes) "v"
R2R_DOT_AS("vpdpbusd %2, %1, %0", unsigned, 4) R2R_DOT_AS("vpdpbusd %2, %1, %0", unsigned, 8)
R2R_DOT_AS("vpdpbusd %2, %1, %0", unsigned, 16)
R2R_MULTIPLY_ADD_AS("vpdpwssd %2, %1, %0", 4) R2R_MULTIPLY_ADD_AS("vpdpwssd %2, %1, %0", 8)
R2R_MULTIPLY_ADD_AS("vpdpwssd %2, %1, %0", 16)
#elif defined(__x86_64__) && defined(__AVXVNNI__)
#define R2R_IN(lanes) "x"
R2R_DOT_AS("{vex} vpdpbusd %2, %1, %0", unsigned, 4) R2R_DOT_AS("{vex} vpdpbusd %2, %1, %0", unsigned, 8)
R2R_DOT(unsigned, 16)
R2R_MULTIPLY_ADD_AS("{vex} vpdpwssd %2, %1, %0", 4) R2R_MULTIPLY_ADD_AS("{vex} vpdpwssd %2, %1, %0", 8)
R2R_MULTIPLY_ADD(16)
#elif defined(__x86_64__) && defined(__AVX2__)
R2R_DOT_PAIRS("vpmaddwd %2, %1, %0", "x", "x", 4) R2R_DOT_PAIRS("vpmaddwd %2, %1, %0", "x", "x", 8)
R2R_MULTIPLY_ADD_PAIRS(4) R2R_MULTIPLY_ADD_PAIRS(8)
#if defined(__AVX512BW__)
R2R_DOT_PAIRS("vpmaddwd %2, %1, %0", "v", "v", 16)
R2R_MULTIPLY_ADD_PAIRS(16)
#else
R2R_DOT(unsigned, 16) R2R_MULTIPLY_ADD(16)
#endif
#elif defined(__x86_64__) && !defined(__AVX__)
R2R_DOT_PAIRS("pmaddwd %2, %0", "x", "0", 4)
R2R_MULTIPLY_ADD_PAIRS(4)
R2R_DOT(unsigned, 8) R2R_DOT(unsigned, 16) R2R_MULTIPLY_ADD(8) R2R_MULTIPLY_ADD(16)
#else
R2R_MULTIPLY_ADD(4) R2R_MULTIPLY_ADD(8) R2R_MULTIPLY_ADD(16)
R2R_DOT(unsigned, 4) R2R_DOT(unsigned, 8) R2R_DOT(unsigned, 16)
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define R2R_IN(lanes) "w"
R2R_DOT_AS("sdot %0.4s, %1.16b, %2.16b", signed, 4)
#else
R2R_DOT(signed, 4)
#endif
/* Registers of SVE, where their length is known. */
#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 256
R2R_DOT_AS("sdot %0.s, %1.b, %2.b", signed, 8) R2R_DOT(signed, 16)
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 512
R2R_DOT(signed, 8) R2R_DOT_AS("sdot %0.s, %1.b, %2.b", signed, 16)
#else
R2R_DOT(signed, 8) R2R_DOT(signed, 16)
#endif


typedef void (*r2r_task)(const void* arguments, int64_t begin, int64_t end);
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth, int64_t* wrong);


#include <time.h>
/* Seconds since the last lap are added to *sum; t[0] is when that was. */
static __attribute__((unused, noinline)) void r2r_lap(double* t, double* sum) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  const double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  if (sum) *sum += seconds - t[0];
  t[0] = seconds;
}


#define R2R_SHARED static
/* The loop runs on at most so many threads, its caller among them. Where the caller waits for others, it asks whether
   the call that wrong belongs to is to end, which they see. */
#if defined(_WIN32) || defined(__wasm__)
R2R_SHARED void r2r_share(r2r_task task, const void* arguments, int64_t total, int64_t threads,
                          int (*ended)(int64_t*), int64_t* wrong) {
  (void)threads;
  (void)ended;
  (void)wrong;
  task(arguments, 0, total);
}
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum { R2R_MOST_WORKERS = 63, R2R_SPINS = 4000, R2R_CHUNKS = 8 };
/* What is left of a thread's stretch of the loop, in a line of the cache of its own. */
struct r2r_stretch { int64_t next __attribute__((aligned(64))), end; };
static struct {
  pthread_mutex_t use, sleep;
  pthread_cond_t wake;
  int64_t workers, most;
  /* The loop that is open: it is read by workers only after they have said that they are inside. */
  r2r_task task;
  const void* arguments;
  int64_t chunk, helpers;
  struct r2r_stretch stretches[R2R_MOST_WORKERS + 1];
  int64_t opened __attribute__((aligned(64)));
  int64_t open, inside, sleeping;
} r2r_pool = {.use = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
              .most = R2R_MOST_WORKERS};

R2R_INLINE void r2r_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/* All of the own stretch, then what others have left of theirs. */
static void r2r_take_chunks(int64_t own) {
  for (int64_t turn = 0; turn <= r2r_pool.helpers; ++turn) {
    struct r2r_stretch* const s = &r2r_pool.stretches[(own + turn) % (r2r_pool.helpers + 1)];
    for (;;) {
      const int64_t begin = __atomic_fetch_add(&s->next, r2r_pool.chunk, __ATOMIC_RELAXED);
      if (begin >= s->end) break;
      const int64_t end = begin + r2r_pool.chunk;
      r2r_pool.task(r2r_pool.arguments, begin, end < s->end ? end : s->end);
    }
  }
}
static void* r2r_worker(void* number) {
  int64_t seen = 0;
  for (;;) {
    int64_t spins = 0;
    while (__atomic_load_n(&r2r_pool.opened, __ATOMIC_ACQUIRE) == seen) {
      if (++spins < R2R_SPINS) { r2r_pause(); continue; }
      pthread_mutex_lock(&r2r_pool.sleep);
      __atomic_fetch_add(&r2r_pool.sleeping, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&r2r_pool.opened, __ATOMIC_SEQ_CST) == seen)
        pthread_cond_wait(&r2r_pool.wake, &r2r_pool.sleep);
      __atomic_fetch_sub(&r2r_pool.sleeping, 1, __ATOMIC_SEQ_CST);
      pthread_mutex_unlock(&r2r_pool.sleep);
    }
    seen = __atomic_load_n(&r2r_pool.opened, __ATOMIC_ACQUIRE);
    /* Say "inside", then look whether the loop is still open; the caller closes it, then looks who is inside. */
    __atomic_fetch_add(&r2r_pool.inside, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&r2r_pool.open, __ATOMIC_SEQ_CST) && (int64_t)(size_t)number < r2r_pool.helpers)
      r2r_take_chunks((int64_t)(size_t)number + 1);
    __atomic_fetch_sub(&r2r_pool.inside, 1, __ATOMIC_SEQ_CST);
  }
  return 0;
}
static void r2r_after_fork(void) {
  /* A child process has none of its parent's threads. */
  pthread_mutex_init(&r2r_pool.use, 0);
  pthread_mutex_init(&r2r_pool.sleep, 0);
  pthread_cond_init(&r2r_pool.wake, 0);
  r2r_pool.workers = r2r_pool.opened = r2r_pool.open = r2r_pool.inside = r2r_pool.sleeping = 0;
}
static void r2r_start_workers(int64_t wanted) {
  static int registered;
  if (!registered) { pthread_atfork(0, 0, r2r_after_fork); registered = 1; }
  /* Signals are for the program's own threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (r2r_pool.workers < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, 0, r2r_worker, (void*)(size_t)r2r_pool.workers)) {
      r2r_pool.most = r2r_pool.workers;
      break;
    }
    pthread_detach(thread);
    ++r2r_pool.workers;
  }
  pthread_sigmask(SIG_SETMASK, &before, 0);
}
R2R_SHARED void r2r_share(r2r_task task, const void* arguments, int64_t total, int64_t threads,
                          int (*ended)(int64_t*), int64_t* wrong) {
  int64_t helpers = threads - 1 < r2r_pool.most ? threads - 1 : r2r_pool.most;
  if (helpers < 1 || pthread_mutex_trylock(&r2r_pool.use)) {
    task(arguments, 0, total);
    return;
  }
  if (r2r_pool.workers < helpers) r2r_start_workers(helpers);
  if (helpers > total - 1) helpers = total - 1;
  const int64_t share = total / (helpers + 1), left = total % (helpers + 1);
  r2r_pool.task = task;
  r2r_pool.arguments = arguments;
  r2r_pool.helpers = helpers;
  r2r_pool.chunk = (share + R2R_CHUNKS - 1) / R2R_CHUNKS;
  for (int64_t t = 0, begin = 0; t <= helpers; ++t) {
    const int64_t end = begin + share + (t < left);
    __atomic_store_n(&r2r_pool.stretches[t].next, begin, __ATOMIC_RELAXED);
    begin = r2r_pool.stretches[t].end = end;
  }
  __atomic_store_n(&r2r_pool.open, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&r2r_pool.opened, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&r2r_pool.sleeping, __ATOMIC_SEQ_CST)) {
    pthread_mutex_lock(&r2r_pool.sleep);
    pthread_cond_broadcast(&r2r_pool.wake);
    pthread_mutex_unlock(&r2r_pool.sleep);
  }
  r2r_take_chunks(0);
  __atomic_store_n(&r2r_pool.open, 0, __ATOMIC_SEQ_CST);
  for (int64_t spins = 0; __atomic_load_n(&r2r_pool.inside, __ATOMIC_SEQ_CST); ++spins) {
    if (spins < R2R_SPINS) { r2r_pause(); continue; }
    sched_yield();
    if (ended && wrong) ended(wrong);
  }
  pthread_mutex_unlock(&r2r_pool.use);
}
#endif

static int64_t r2r_threads;
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth, int64_t* wrong) {
  if (!worth || total < 2 || r2r_threads < 2) task(arguments, 0, total);
  else r2r_share(task, arguments, total, r2r_threads, 0, wrong);
}
R2R_EXPORT void r2r_set_threads(int64_t count) { r2r_threads = count; }
