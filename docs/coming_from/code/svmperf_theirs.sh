# loss 1 is F1; train.dat and test.dat are svmlight files
svm_perf_learn -l 1 -c 1 train.dat model
svm_perf_classify test.dat model predictions
