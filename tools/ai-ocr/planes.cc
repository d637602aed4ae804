/* SPDX-License-Identifier: Apache-2.0 */
#include "planes.h"

#include <algorithm>

namespace ai_ocr {

void to_planes(const cv::Mat& picture, const std::array<float, 3>& mean,
               const std::array<float, 3>& deviation, std::span<float> planes, int width)
{
    auto row_elements = static_cast<std::size_t>(width);
    std::size_t plane = row_elements * static_cast<std::size_t>(picture.rows);

    CV_Assert(picture.type() == CV_8UC3 && picture.cols <= width && planes.size() == 3 * plane);
    for (int y = 0; y < picture.rows; y++) {
        const auto* pixel = picture.ptr<cv::Vec3b>(y);
        for (std::size_t channel = 0; channel < 3; channel++) {
            std::span<float> row = planes.subspan(
                channel * plane + static_cast<std::size_t>(y) * row_elements, row_elements);
            float scale = 1 / (255 * deviation[channel]);
            float shift = mean[channel] / deviation[channel];
            auto rest = row.begin();
            for (int x = 0; x < picture.cols; x++)
                *rest++ = static_cast<float>(pixel[x][static_cast<int>(channel)]) * scale - shift;
            std::fill(rest, row.end(), 0.0F);
        }
    }
}

} // namespace ai_ocr
