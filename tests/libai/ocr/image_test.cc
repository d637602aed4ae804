/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures, good and bad, as ai-ocr reads them. */
#include <cerrno>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include "image.h"

namespace {

using testing::HasSubstr;

using File = std::vector<unsigned char>;

File read(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

cv::Mat gradient(int width, int height)
{
    cv::Mat image(height, width, CV_8UC3);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            image.at<cv::Vec3b>(y, x) = cv::Vec3b(static_cast<unsigned char>(255 * x / width),
                                                  static_cast<unsigned char>(255 * y / height), 40);
    return image;
}

File png_of(const cv::Mat& image)
{
    std::string path = testing::TempDir() + "image_test.png";
    ai_ocr::write_png(path, image).or_throw();
    return read(path);
}

File jpeg_of(const cv::Mat& image, int format = TJPF_BGR)
{
    tjhandle encoder = tjInitCompress();
    unsigned char* data = nullptr;
    unsigned long size = 0;

    tjCompress2(encoder, image.data, image.cols, static_cast<int>(image.step), image.rows, format,
                &data, &size, TJSAMP_444, 95, 0);
    File file(data, data + size);
    tjFree(data);
    tjDestroy(encoder);
    return file;
}

/* With an EXIF block that says how the camera was held. */
File turned(const File& jpeg, unsigned char orientation)
{
    const File exif{0xff, 0xe1, 0x00, 0x22, 'E', 'x',         'i', 'f', 0,    0,    'M', 'M',
                    0,    0x2a, 0,    0,    0,   8,           0,   1,   0x01, 0x12, 0,   3,
                    0,    0,    0,    1,    0,   orientation, 0,   0,   0,    0,    0,   0};
    File file(jpeg.begin(), jpeg.begin() + 2);
    file.insert(file.end(), exif.begin(), exif.end());
    file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
    return file;
}

TEST(Image, PngIsReadAsItWasWritten)
{
    cv::Mat image = gradient(50, 20);
    cv::Mat read = ai_ocr::decode_image(png_of(image), "x.png").or_throw();

    EXPECT_EQ(cv::norm(image, read, cv::NORM_INF), 0);
}

TEST(Image, JpegIsReadNearly)
{
    cv::Mat image = gradient(64, 48);
    cv::Mat read = ai_ocr::decode_image(jpeg_of(image), "x.jpg").or_throw();

    EXPECT_LT(cv::norm(image, read, cv::NORM_INF), 16);
}

TEST(Image, CamerasMayBeHeldInAnyWay)
{
    cv::Mat image(32, 64, CV_8UC3, cv::Scalar(255, 255, 255));
    image(cv::Rect(0, 0, 16, 16)) = cv::Scalar(0, 0, 0); /* what is stored upper left */
    File jpeg = jpeg_of(image);
    struct Row {
        unsigned char orientation;
        cv::Size size;
        cv::Point dark;
    };
    for (auto [orientation, size, dark] :
         {Row{1, {64, 32}, {8, 8}}, Row{2, {64, 32}, {56, 8}}, Row{3, {64, 32}, {56, 24}},
          Row{4, {64, 32}, {8, 24}}, Row{5, {32, 64}, {8, 8}}, Row{6, {32, 64}, {24, 8}},
          Row{7, {32, 64}, {24, 56}}, Row{8, {32, 64}, {8, 56}}}) {
        cv::Mat read = ai_ocr::decode_image(turned(jpeg, orientation), "x.jpg").or_throw();
        EXPECT_EQ(read.size(), size) << int(orientation);
        EXPECT_LT(read.at<cv::Vec3b>(dark)[0], 60) << int(orientation);
    }
}

TEST(Image, EachTruncationIsRefusedOrReadWhole)
{
    for (const File& whole : {png_of(gradient(40, 30)), jpeg_of(gradient(40, 30))})
        for (std::size_t size = 0; size + 12 < whole.size(); size += 7) {
            auto image = ai_ocr::decode_image(std::span(whole).first(size), "x");
            EXPECT_FALSE(image) << size;
        }
}

TEST(Image, SizeIsLookedAtFirst)
{
    auto large = ai_ocr::decode_image(png_of(cv::Mat::zeros(1, 4097, CV_8UC3)), "x.png");
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, EFBIG);
    EXPECT_EQ(large.error().message, "x.png has 4097 x 1 pixels, 1 x 1 to 4096 x 4096 are "
                                     "possible: make it smaller first");
    EXPECT_TRUE(ai_ocr::decode_image(png_of(cv::Mat::zeros(1, 4096, CV_8UC3)), "x.png"));
    auto tall = ai_ocr::decode_image(jpeg_of(cv::Mat::zeros(4097, 1, CV_8UC3)), "x.jpg");
    EXPECT_EQ(tall.error().code, EFBIG);
}

TEST(Image, OtherFilesAreRefused)
{
    File text{'h', 'e', 'l', 'l', 'o'};

    EXPECT_EQ(ai_ocr::decode_image(text, "x.gif").error().message,
              "x.gif is neither a PNG nor a JPEG file");
    EXPECT_FALSE(ai_ocr::decode_image({}, "x.png"));
    EXPECT_THAT(ai_ocr::read_image("/nowhere.png").error().message, HasSubstr("cannot be read"));
    EXPECT_FALSE(ai_ocr::read_image("/"));
}

TEST(Image, PrintersColoursAreRefused)
{
    cv::Mat ink(16, 16, CV_8UC4, cv::Scalar(1, 2, 3, 4));

    EXPECT_THAT(ai_ocr::decode_image(jpeg_of(ink, TJPF_CMYK), "x.jpg").error().message,
                HasSubstr("CMYK"));
}

} // namespace
