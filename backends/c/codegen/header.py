"""The C text that every generated file begins with: types, integer division, and the intrinsic
functions.

Single-precision functions are written without branches and tables, so that the compiler can
evaluate them for a whole vector at once; their polynomials are minimax approximations with errors
of at most two units in the last place.
"""

from __future__ import annotations

from collections.abc import Mapping

_LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "exp2", "expm1",
    "floor", "fmod", "hypot", "log", "log10", "log1p", "log2", "nearbyint", "sin", "sinh", "sqrt", "tan", "trunc",
)  # fmt: skip
# Intrinsic to the C function for float32 and for float64.
FUNCTIONS: Mapping[str, tuple[str, str]] = {
    **{name: (name + "f", name) for name in _LIBM},
    "abs": ("fabsf", "fabs"),
    "erf": ("r2r_erff", "erf"),
    "exp": ("r2r_expf", "exp"),
    "exp10": ("r2r_exp10f", "r2r_exp10"),
    "fabs": ("fabsf", "fabs"),
    "pow": ("powf", "pow"),
    "power": ("powf", "pow"),
    # Halves go to the even neighbour, as in the code that TVM makes of T.round.
    "round": ("nearbyintf", "nearbyint"),
    "rsqrt": ("r2r_rsqrtf", "r2r_rsqrt"),
    "sigmoid": ("r2r_sigmoidf", "r2r_sigmoid"),
    "tanh": ("r2r_tanhf", "tanh"),
    "isfinite": ("isfinite", "isfinite"),
    "isinf": ("isinf", "isinf"),
    "isnan": ("isnan", "isnan"),
}

# What the text needs of C's library: as it is written for people, and for files that need more of
# it.
INCLUDES = """
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
"""
# The same for a compiler. C allows it (7.1.4), and the headers of the system are a tenth of its
# work on a small file.
_DECLARED = r"""
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
"""
_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "pow")

_TEXT = r"""
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
"""

_NAMES = (*_LIBM, "erf", "exp", "fabs", "pow", "tanh")
_MATH = " ".join(f"R2R_OF_{'TWO' if name in _OF_TWO else 'ONE'}({name})" for name in _NAMES)
HEADER = f"{_DECLARED}{_MATH}\n{_TEXT}"


def with_includes(text: str) -> str:
    """Return C that begins with ``HEADER`` with the system's headers instead of declarations."""
    return text.replace(_DECLARED + _MATH, INCLUDES.rstrip("\n"), 1)
