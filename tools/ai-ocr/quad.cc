/* SPDX-License-Identifier: Apache-2.0 */
#include "quad.h"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace ai_ocr {

namespace {

/* Text taller than this many times its width is taken to run downwards, turned clockwise. */
constexpr double kTall = 1.5;

float distance(cv::Point2f a, cv::Point2f b)
{
    return std::hypot(a.x - b.x, a.y - b.y);
}

float top(const Quad& quad)
{
    return std::ranges::min(quad, {}, &cv::Point2f::y).y;
}

float bottom(const Quad& quad)
{
    return std::ranges::max(quad, {}, &cv::Point2f::y).y;
}

float left(const Quad& quad)
{
    return std::ranges::min(quad, {}, &cv::Point2f::x).x;
}

float middle(const Quad& quad)
{
    return (quad[0].y + quad[1].y + quad[2].y + quad[3].y) / 4;
}

} // namespace

Quad clockwise(const cv::RotatedRect& rect)
{
    Quad corners;

    rect.points(corners.data());
    std::ranges::sort(corners, {}, &cv::Point2f::x);
    if (corners[0].y > corners[1].y)
        std::swap(corners[0], corners[1]);
    if (corners[2].y > corners[3].y)
        std::swap(corners[2], corners[3]);
    return {corners[0], corners[2], corners[3], corners[1]};
}

void sort_for_reading(std::vector<Quad>& quads)
{
    std::ranges::sort(quads, {}, middle);

    /* A row ends where the next middle is below the first one's lower quarter. */
    for (auto row = quads.begin(); row != quads.end();) {
        float limit = middle(*row) + (bottom(*row) - top(*row)) / 4;
        auto end =
            std::find_if(row, quads.end(), [&](const Quad& quad) { return middle(quad) > limit; });
        std::sort(row, end, [](const Quad& a, const Quad& b) { return left(a) < left(b); });
        row = end;
    }
}

cv::Mat cut_out(const cv::Mat& image, const Quad& quad)
{
    float width = std::max(distance(quad[0], quad[1]), distance(quad[2], quad[3]));
    float height = std::max(distance(quad[0], quad[3]), distance(quad[1], quad[2]));
    cv::Size size(std::max(1, static_cast<int>(width)), std::max(1, static_cast<int>(height)));
    auto right = static_cast<float>(size.width);
    auto low = static_cast<float>(size.height);
    const Quad target{cv::Point2f(0, 0), cv::Point2f(right, 0), cv::Point2f(right, low),
                      cv::Point2f(0, low)};
    cv::Mat out;

    cv::warpPerspective(image, out, cv::getPerspectiveTransform(quad.data(), target.data()), size,
                        cv::INTER_CUBIC, cv::BORDER_REPLICATE);
    if (out.rows >= kTall * out.cols)
        cv::rotate(out, out, cv::ROTATE_90_COUNTERCLOCKWISE);
    return out;
}

} // namespace ai_ocr
