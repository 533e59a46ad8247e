"""Choose five of thirty measurements inside a pipeline, and score them on held-out rows."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dagsearch.sklearn import DAGSearchSelector

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = make_pipeline(StandardScaler(), LogisticRegression())
selector = DAGSearchSelector(model, n_features_to_select=5, budget=60, random_state=0)
pipeline = make_pipeline(selector.set_output(transform="pandas"), model).fit(X_train, y_train)

low, high = selector.score_interval_
print("chosen:", *selector.get_feature_names_out(), sep="\n  ")
print(f"cross-validated accuracy {selector.best_score_:.3f}, 90% interval {low:.3f} to {high:.3f}")
print(f"on held-out rows         {pipeline.score(X_test, y_test):.3f}")
print(f"with all 30 features     {model.fit(X_train, y_train).score(X_test, y_test):.3f}")

print("most important:")
for column in selector.ranking_.argsort()[:3]:
    low, high = selector.importance_intervals_[column]
    print(f"  {X.columns[column]:20} {selector.importances_[column]:.4f} ({low:.4f} to {high:.4f})")

written = selector.report().write(Path("report"))
print("wrote", *written)
