#!/usr/bin/env python3
"""Writes the handwritten digits as .npz files beside this script.

Source: "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak,
UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, CC BY 4.0; the
1,797 images of 8x8 pixels that scikit-learn ships as `load_digits`. Changed
here: split, scaled, stored as float32.

Needs numpy and scikit-learn. Its output is in the repository, so nobody has to
run it; running it again gives the same bytes.
"""
import pathlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 20240607
NUM_TEST = 297
HERE = pathlib.Path(__file__).resolve().parent


def main():
    images, labels = load_digits(return_X_y=True)
    # A pixel is the number of dark points in a 4x4 block: 0 to 16.
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = labels.astype(np.int64)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=NUM_TEST, random_state=SEED, stratify=labels
    )
    np.savez(HERE / "digits-train.npz", images=train_images, labels=train_labels)
    np.savez(HERE / "digits-test.npz", images=test_images, labels=test_labels)
    print(f"{len(train_labels)} images to train on, {len(test_labels)} to test")


if __name__ == "__main__":
    main()
