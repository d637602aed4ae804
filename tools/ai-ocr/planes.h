/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels as models take them. */
#pragma once

#include <array>
#include <span>

#include <opencv2/core.hpp>

namespace ai_ocr {

/*
 * Writes an 8-bit picture of three channels as three planes of (value / 255 - mean) /
 * deviation, straight into @planes. Rows there have @width elements, at least as many
 * as the picture; what is to the right of it becomes 0.
 */
void to_planes(const cv::Mat& picture, const std::array<float, 3>& mean,
               const std::array<float, 3>& deviation, std::span<float> planes, int width);

} // namespace ai_ocr
