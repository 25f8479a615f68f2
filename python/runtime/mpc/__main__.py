from mpc._command import main

main()
