/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <opencv2/imgproc.hpp>

namespace ai_ocr {

namespace {

const cv::Scalar kBoxColour(60, 60, 220);
const cv::Scalar kFrameColour(200, 200, 200);
const cv::Scalar kTextColour(20, 20, 20);
/* Letters take this share of the height of their box. */
constexpr double kLetterShare = 0.7;

std::vector<cv::Point> corners(const Quad& box)
{
    return {box.begin(), box.end()};
}

/* As large as fits into the box. */
void write_text(cv::Mat& page, const Line& line, Painter& painter)
{
    cv::RotatedRect rect =
        cv::minAreaRect(std::vector<cv::Point2f>(line.box.begin(), line.box.end()));
    cv::Rect around = cv::boundingRect(corners(line.box));
    auto height = static_cast<int>(std::min(rect.size.width, rect.size.height) * kLetterShare);
    int width = painter.width(line.text.text, height);

    if (width > around.width)
        height = height * around.width / width;
    height = std::max(height, 8);
    cv::Point origin(around.x, around.y + (around.height + height * 3 / 4) / 2);
    painter.draw(page, line.text.text, origin, height, kTextColour);
}

} // namespace

cv::Mat drawn(const cv::Mat& picture, const Page& page, Painter& painter)
{
    int thickness = std::max(1, std::max(picture.cols, picture.rows) / 600);
    cv::Mat both(picture.rows, 2 * picture.cols, CV_8UC3, cv::Scalar(255, 255, 255));
    cv::Mat left = both.colRange(0, picture.cols);
    cv::Mat right = both.colRange(picture.cols, 2 * picture.cols);

    picture.copyTo(left);
    for (const Line& line : page.lines) {
        cv::polylines(left, corners(line.box), true, kBoxColour, thickness, cv::LINE_AA);
        cv::polylines(right, corners(line.box), true, kFrameColour, 1, cv::LINE_AA);
        write_text(right, line, painter);
    }
    return both;
}

} // namespace ai_ocr
