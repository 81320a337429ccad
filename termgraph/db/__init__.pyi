"""What `termgraph.db` imports later, as type checkers see it. Made by scripts/make_stubs.py: do not edit."""

from termgraph.db.database import GraphPass as GraphPass
from termgraph.db.database import PASSES as PASSES
from termgraph.db.database import all_rules as all_rules
from termgraph.db.database import load as load
from termgraph.db.database import makes as makes
from termgraph.db.database import query as query
from termgraph.db.database import register_pass as register_pass
from termgraph.db.database import rewrite as rewrite
from termgraph.db.database import rewrites as rewrites
from termgraph.db.database import rules as rules
from termgraph.db.discovering import discover as discover
from termgraph.db.explain import Explanation as Explanation
from termgraph.db.explain import find_rule as find_rule
from termgraph.db.explain import why as why
from termgraph.db.explain import why_not as why_not
from termgraph.db.loading import ERRORS as ERRORS
from termgraph.db.queries import Query as Query
from termgraph.db.queries import TRUSTED as TRUSTED
from termgraph.db.saturating import saturate as saturate
