/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in files. */
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <opencv2/core.hpp>

#include <ai/result.h>

namespace ai_ocr {

inline constexpr unsigned kMaxSide = 4096;

/*
 * A PNG or JPEG picture as 8-bit BGR, upright if a camera noted how it was held,
 * what is transparent on white. EFBIG when a side is longer than kMaxSide, which is
 * found before anything is decoded; EBADMSG for what is damaged or no picture.
 */
ai::Result<cv::Mat> decode_image(std::span<const unsigned char> file, const std::string& where);
ai::Result<cv::Mat> read_image(const std::string& path);

/* 8-bit BGR as PNG. */
ai::Result<void> write_png(const std::string& path, const cv::Mat& image);

} // namespace ai_ocr
