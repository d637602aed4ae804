/* SPDX-License-Identifier: Apache-2.0 */
/* What was found, drawn for people. */
#pragma once

#include <opencv2/core.hpp>

#include "painter.h"
#include "pipeline.h"

namespace ai_ocr {

/* The picture with the boxes; beside it a page with the text where it was found. */
cv::Mat drawn(const cv::Mat& picture, const Page& page, Painter& painter);

} // namespace ai_ocr
