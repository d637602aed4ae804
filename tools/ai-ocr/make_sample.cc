/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make-sample TEXT.txt FONT OUT.png: a picture of the lines of a text file, as a
 * camera might see a page: a little turned, unevenly lit, with noise. The same text
 * and font give the same picture.
 */
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "image.h"
#include "painter.h"

namespace {

constexpr int kLetters = 34; /* pixels high */
constexpr int kLine = 78;
constexpr int kMargin = 90;
constexpr double kDegrees = 1.5;
constexpr int kNoise = 9; /* most a channel is off, in 255ths */

std::vector<std::string> read_lines(const std::string& path)
{
    std::ifstream file(path);
    std::vector<std::string> lines;
    std::string line;

    while (std::getline(file, line))
        if (!line.empty())
            lines.push_back(line);
    if (lines.empty())
        throw std::runtime_error(path + " has no lines");
    return lines;
}

cv::Mat page_with(const std::vector<std::string>& lines, ai_ocr::Painter& painter)
{
    int width = 0;

    for (const std::string& line : lines)
        width = std::max(width, painter.width(line, kLetters));
    cv::Mat page(2 * kMargin + kLine * static_cast<int>(lines.size()), 2 * kMargin + width, CV_8UC3,
                 cv::Scalar(232, 240, 244));
    int baseline = kMargin + kLetters;
    for (const std::string& line : lines) {
        painter.draw(page, line, {kMargin, baseline}, kLetters, cv::Scalar(52, 40, 36));
        baseline += kLine;
    }
    return page;
}

cv::Mat turned(const cv::Mat& page)
{
    cv::Point2f centre(static_cast<float>(page.cols) / 2, static_cast<float>(page.rows) / 2);
    cv::Mat out;

    cv::warpAffine(page, out, cv::getRotationMatrix2D(centre, kDegrees, 1), page.size(),
                   cv::INTER_CUBIC, cv::BORDER_REPLICATE);
    return out;
}

/* Darker to the lower right, and noise from the bits of a generator of the standard. */
void light_and_noise(cv::Mat& page)
{
    std::mt19937 generator(20240607);

    for (int y = 0; y < page.rows; y++)
        for (int x = 0; x < page.cols; x++) {
            double light =
                1 - 0.15 *
                        (static_cast<double>(x) / page.cols + static_cast<double>(y) / page.rows) /
                        2;
            auto noise = static_cast<int>(generator() % (2 * kNoise + 1)) - kNoise;
            for (int channel = 0; channel < 3; channel++) {
                unsigned char& value = page.at<cv::Vec3b>(y, x)[channel];
                value = cv::saturate_cast<unsigned char>(value * light + noise);
            }
        }
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 4) {
        std::fputs("usage: make-sample TEXT.txt FONT OUT.png\n", stderr);
        return 2;
    }
    auto painter = ai_ocr::Painter::open(argv[2]).or_throw();
    cv::Mat page = turned(page_with(read_lines(argv[1]), painter));
    light_and_noise(page);
    ai_ocr::write_png(argv[3], page).or_throw();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "make-sample: %s\n", error.what());
    return 1;
}
