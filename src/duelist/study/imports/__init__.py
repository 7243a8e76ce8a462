"""Import files into a study: plan, preview, apply.

plan = plan_items("answers.csv")          # or plan_votes("battles.json")
print(plan.preview())                     # writes nothing
study.apply(plan)                         # one transaction
"""

from duelist.study.imports.items.plan import ItemPlan, plan_items
from duelist.study.imports.notes import Note
from duelist.study.imports.votes.plan import VoteImportReport, VotePlan, plan_votes

__all__ = ["ItemPlan", "Note", "VoteImportReport", "VotePlan", "plan_items", "plan_votes"]
