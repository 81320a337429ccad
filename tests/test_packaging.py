"""What is in the checkout is also in an installation."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in (ROOT / "termgraph").rglob("*.py")} | {ROOT / "rules"}
    missing = sorted(str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file())
    assert not missing, f"without __init__.py these folders are left out of the wheel: {missing}"


def test_tools_for_developing_stay_out_of_the_wheel():
    """The emulated GPU, the checks of a real one: what users never run."""
    assert not (ROOT / "termgraph" / "testing").exists()
    assert {"emucuda", "gpucheck"} <= {path.name for path in (ROOT / "tests").iterdir()}
