"""Visual Studio Code itself, in a headless browser, against our host: ``make vscode``."""
