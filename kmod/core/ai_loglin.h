/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log-linear buckets over times: every octave from 2^10 ns (1 us) to 2^37 ns
 * (137 s) in 32 equal parts, so that a bucket is at most 1/32 of its value wide.
 * The same for histograms and for the table of admitted deadlines.
 */
#ifndef AI_LOGLIN_H
#define AI_LOGLIN_H

#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/types.h>

#define AI_LOGLIN_LOW 10
#define AI_LOGLIN_HIGH 37
#define AI_LOGLIN_SHIFT 5
#define AI_LOGLIN_PARTS (1U << AI_LOGLIN_SHIFT)
#define AI_LOGLIN_BUCKETS ((AI_LOGLIN_HIGH - AI_LOGLIN_LOW) * AI_LOGLIN_PARTS)

/* The bucket of a value; what is outside the range is in the first or last one. */
static inline u32 ai_loglin_bucket(u64 value)
{
	u32 octave;

	if (value < 1ULL << AI_LOGLIN_LOW)
		return 0;
	if (value >= 1ULL << AI_LOGLIN_HIGH)
		return AI_LOGLIN_BUCKETS - 1;
	octave = fls64(value) - 1;
	return (octave - AI_LOGLIN_LOW) * AI_LOGLIN_PARTS +
	       ((value >> (octave - AI_LOGLIN_SHIFT)) & (AI_LOGLIN_PARTS - 1));
}

/* The smallest value of a bucket; that of the one behind the last ends the range. */
static inline u64 ai_loglin_lower(u32 bucket)
{
	u32 octave = AI_LOGLIN_LOW + bucket / AI_LOGLIN_PARTS;

	return (u64)(AI_LOGLIN_PARTS + bucket % AI_LOGLIN_PARTS) << (octave - AI_LOGLIN_SHIFT);
}

/* The largest value of a bucket. */
static inline u64 ai_loglin_upper(u32 bucket)
{
	return ai_loglin_lower(bucket + 1) - 1;
}

#endif /* AI_LOGLIN_H */
