"""Products of four bytes at once in C, for the instructions that processors have for them.

All of them give the sum that the portable form gives, which wraps around in 32 bits. On x86-64
``vpdpbusd`` (VNNI) multiplies unsigned bytes with signed ones; without it ``vpmaddwd`` adds up two
products of 16 bits. ``vpmaddubsw`` would do four in two instructions, but keeps its sums of two
products within 16 bits, which 255 * 127 * 2 does not fit into. On AArch64 ``sdot`` multiplies
signed bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

DOTS = r"""
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
"""

# What files have that need these functions.
_NAMES = (
    "r2r_dot",
    "r2r_wide_",
    "r2r_quad",
    "r2r_narrow_",
    "r2r_nearbyint_",
    "r2r_quotient_",
    "r2r_converted_",
    "r2r_truncated_",
)


def with_dots(head: str, texts: Iterable[str]) -> str:
    """Return what a file begins with, for kernels that may multiply bytes."""
    return head + DOTS if any(name in text for text in texts for name in _NAMES) else head
