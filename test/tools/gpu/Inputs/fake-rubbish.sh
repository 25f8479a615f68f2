#!/bin/sh
# Imitates a program that prints unexpected output.
printf '\377\376 no list\n\000\n'
