/* SPDX-License-Identifier: Apache-2.0 */
/* Where text is in a picture: quadrangles, cut out and put into reading order. */
#pragma once

#include <array>
#include <vector>

#include <opencv2/core.hpp>

namespace ai_ocr {

/* Corners, clockwise from the upper left one of the text. */
using Quad = std::array<cv::Point2f, 4>;

/* Corners of a rectangle in the order of a Quad. */
Quad clockwise(const cv::RotatedRect& rect);

/* Lines from top to bottom, what is beside each other from left to right. */
void sort_for_reading(std::vector<Quad>& quads);

/*
 * What is inside, upright: the quadrangle becomes a rectangle, one that is much
 * taller than wide is turned by 90 degrees.
 */
cv::Mat cut_out(const cv::Mat& image, const Quad& quad);

} // namespace ai_ocr
