//! The plugin of an agent: its manifests, its skill and its server agree with the program.

use crate::command::{Place, root};
use serde_json::Value;

fn manifest(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(root().join(".claude-plugin").join(name)).unwrap()).unwrap()
}

#[test]
fn a_marketplace_finds_the_plugin_its_skill_and_its_server() {
    let (plugin, market) = (manifest("plugin.json"), manifest("marketplace.json"));
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    let listed = &market["plugins"][0];
    assert_eq!((&listed["name"], &listed["description"]), (&plugin["name"], &plugin["description"]));
    let source = root().join(listed["source"].as_str().unwrap());
    assert!(source.join(".claude-plugin/plugin.json").is_file() && market["owner"]["name"].is_string());

    let server = &plugin["mcpServers"]["ncugate"];
    let project = std::fs::read_to_string(root().join("python/pyproject.toml")).unwrap();
    let project: toml::Table = project.parse().unwrap();
    let command = server["command"].as_str().unwrap();
    let data = project["tool"]["maturin"]["data"].as_str().unwrap();
    assert!(root().join("python").join(data).join("scripts").join(command).is_file(), "{command}");
    let tools: Value = serde_json::from_str(&Place::new().run(&["agent", "tools"]).stdout).unwrap();
    let tools = tools.as_array().unwrap();

    let skill = std::fs::read_to_string(source.join("skills/ncugate/SKILL.md")).unwrap();
    let (head, body) = skill.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let field = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap();
    // Limits of the format: the folder's name, and 1,024 characters.
    assert!(field("name") == "ncugate" && field("description").len() <= 1024);
    let page = std::fs::read_to_string(root().join("docs/how-to/drive-from-an-agent.md")).unwrap();
    for tool in tools {
        let name = format!("`{}`", tool["name"].as_str().unwrap());
        assert!(body.contains(&name) && page.contains(&name), "{name}");
    }
}
