import RouterdCommands

await RouterdCommandLine.main(plugins: .builtIn)
