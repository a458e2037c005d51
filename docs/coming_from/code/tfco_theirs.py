import numpy as np
import tensorflow.compat.v1 as tf
import tensorflow_constrained_optimization as tfco
from sklearn.datasets import make_classification

tf.disable_eager_execution()
X, y = make_classification(8000, weights=[0.8], flip_y=0.05, random_state=0)
X = np.column_stack([X, np.ones(len(X))]).astype("float32")

weights = tf.Variable(tf.zeros([X.shape[1], 1]))
scores = tf.matmul(tf.constant(X[:4000]), weights)[:, 0]
labels = tf.constant(y[:4000].astype("float32"))
context = tfco.rate_context(scores, labels)
problem = tfco.RateMinimizationProblem(
    tfco.false_negative_rate(context), [tfco.false_positive_rate(context) <= 0.02]
)
optimizer = tfco.ProxyLagrangianOptimizerV1(tf.train.AdamOptimizer(0.1))
step = optimizer.minimize(problem)
seen = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for k in range(3000):
        session.run(step)
        if k % 50 == 49:
            called = X[:4000] @ session.run(weights)[:, 0] > 0
            misses = 1 - called[y[:4000] == 1].mean()
            seen.append((misses, called[y[:4000] == 0].mean() - 0.02, session.run(weights)[:, 0]))
best = tfco.find_best_candidate_index(
    np.array([s[0] for s in seen]), np.array([[s[1]] for s in seen])
)
called = X[4000:] @ seen[best][2] > 0
print(f"false alarms {called[y[4000:] == 0].mean():.3f} found {called[y[4000:] == 1].mean():.3f}")
