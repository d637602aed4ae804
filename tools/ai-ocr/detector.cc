/* SPDX-License-Identifier: Apache-2.0 */
#include "detector.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>

#include <opencv2/imgproc.hpp>
#include <polyclipping/clipper.hpp>

#include "planes.h"

namespace ai_ocr {

namespace {

/* The model's strides end at one cell for 32 pixels. */
constexpr int kStride = 32;

/* Mean and deviation of ImageNet's pixels; PP-OCR applies them to blue first. */
constexpr std::array<float, 3> kMean{0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kDeviation{0.229F, 0.224F, 0.225F};

/* Clipper calculates with integers: this many to the pixel. */
constexpr double kClipperScale = 256;

/* Boxes of the picture with a side of so many pixels hold no text. */
constexpr float kSmallestBox = 3;

float short_side(const cv::RotatedRect& rect)
{
    return std::min(rect.size.width, rect.size.height);
}

/* Mean probability inside a box. */
float score(const cv::Mat& probability, const Quad& box)
{
    cv::Rect inside = cv::boundingRect(std::vector<cv::Point2f>(box.begin(), box.end())) &
                      cv::Rect(0, 0, probability.cols, probability.rows);
    if (inside.empty())
        return 0;

    std::array<cv::Point, 4> corners;
    for (std::size_t i = 0; i < corners.size(); i++)
        corners[i] =
            cv::Point(static_cast<int>(box[i].x) - inside.x, static_cast<int>(box[i].y) - inside.y);
    cv::Mat mask = cv::Mat::zeros(inside.size(), CV_8UC1);
    cv::fillConvexPoly(mask, corners.data(), static_cast<int>(corners.size()), cv::Scalar(1));
    return static_cast<float>(cv::mean(probability(inside), mask)[0]);
}

/* Moves the sides outwards by area * ratio / length and fits a rectangle again. */
std::optional<cv::RotatedRect> unclipped(const Quad& box, double ratio)
{
    std::vector<cv::Point2f> corners(box.begin(), box.end());
    double length = cv::arcLength(corners, true);
    if (!(length > 0))
        return std::nullopt;

    ClipperLib::Path path;
    for (const cv::Point2f& corner : corners)
        path.emplace_back(std::llround(corner.x * kClipperScale),
                          std::llround(corner.y * kClipperScale));
    ClipperLib::ClipperOffset offset;
    ClipperLib::Paths grown;
    offset.ArcTolerance = kClipperScale / 4;
    offset.AddPath(path, ClipperLib::jtRound, ClipperLib::etClosedPolygon);
    offset.Execute(grown, cv::contourArea(corners) * ratio / length * kClipperScale);
    if (grown.size() != 1)
        return std::nullopt;

    std::vector<cv::Point2f> points;
    for (const ClipperLib::IntPoint& point : grown.front())
        points.emplace_back(static_cast<float>(static_cast<double>(point.X) / kClipperScale),
                            static_cast<float>(static_cast<double>(point.Y) / kClipperScale));
    return cv::minAreaRect(points);
}

/* From the coordinates of the map to those of the picture; nothing if it is too small. */
std::optional<Quad> scaled(const Quad& box, cv::Size map, cv::Size picture)
{
    auto convert = [](float value, int from, int to) {
        float moved = std::round(value / static_cast<float>(from) * static_cast<float>(to));
        return std::clamp(moved, 0.0F, static_cast<float>(to - 1));
    };
    Quad out;

    for (std::size_t i = 0; i < box.size(); i++)
        out[i] = {convert(box[i].x, map.width, picture.width),
                  convert(box[i].y, map.height, picture.height)};
    if (cv::norm(out[0] - out[1]) <= kSmallestBox || cv::norm(out[0] - out[3]) <= kSmallestBox)
        return std::nullopt;
    return out;
}

} // namespace

cv::Size detector_size(cv::Size picture, const DetectorOptions& options)
{
    int longest = std::max(picture.width, picture.height);
    double ratio =
        longest > options.longest_side ? static_cast<double>(options.longest_side) / longest : 1;
    auto side = [&](int pixels) {
        auto wanted = static_cast<int>(pixels * ratio);
        return std::max(static_cast<int>(std::lrint(wanted / double{kStride})) * kStride, kStride);
    };

    return {side(picture.width), side(picture.height)};
}

void normalise_for_detection(const cv::Mat& picture, std::span<float> planes)
{
    to_planes(picture, kMean, kDeviation, planes, picture.cols);
}

std::vector<Quad> find_boxes(const cv::Mat& probability, cv::Size picture,
                             const DetectorOptions& options)
{
    std::vector<std::vector<cv::Point>> contours;
    std::vector<Quad> boxes;

    cv::findContours(probability > options.pixel_threshold, contours, cv::RETR_LIST,
                     cv::CHAIN_APPROX_SIMPLE);
    if (contours.size() > options.most_boxes)
        contours.resize(options.most_boxes);
    for (const std::vector<cv::Point>& contour : contours) {
        cv::RotatedRect core = cv::minAreaRect(contour);
        if (short_side(core) < options.smallest_side)
            continue;
        if (score(probability, clockwise(core)) < options.box_threshold)
            continue;
        std::optional<cv::RotatedRect> text = unclipped(clockwise(core), options.unclip_ratio);
        if (!text || short_side(*text) < options.smallest_side + 2)
            continue;
        if (auto box = scaled(clockwise(*text), probability.size(), picture))
            boxes.push_back(*box);
    }
    sort_for_reading(boxes);
    return boxes;
}

ai::Result<Detector::Found> Detector::detect(const cv::Mat& picture)
{
    cv::Size size = detector_size(picture.size(), options_);
    ai::Result<std::span<float>> planes = model_.input(ai::Shape(1, 3, size.height, size.width));
    if (!planes)
        return std::move(planes).error();

    cv::Mat resized;
    cv::resize(picture, resized, size);
    normalise_for_detection(resized, *planes);

    ai::Result<RunnerModel::Output> output = model_.run();
    if (!output)
        return std::move(output).error();
    if (output->shape != ai::Shape(1, 1, size.height, size.width))
        return ai::Error{EINVAL, "the detection model gave " + ai::to_string(output->shape) +
                                     ", a probability for each pixel was expected"};
    /* OpenCV has no view of constant memory; this one is not written to. */
    cv::Mat probability(size, CV_32FC1, const_cast<float*>(output->data.data()));
    return Found{find_boxes(probability, picture.size(), options_), std::move(output->record)};
}

} // namespace ai_ocr
