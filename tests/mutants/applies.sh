#!/usr/bin/env bash
# Whether each mutant of mutants.txt still applies: its text must stand at one place of its file.
#   applies.sh ROOT
set -euo pipefail
cd "$1"
perl -e '
  my ($name, $file, $wrong, $mutants) = ("", "", 0, 0);
  open(my $list, "<", "tests/mutants/mutants.txt") or die "mutants.txt: $!\n";
  while (my $line = <$list>) {
    chomp $line;
    $name = $1 if $line =~ /^mutant (.*)/;
    $file = $1 if $line =~ /^file (.*)/;
    next unless $line =~ /^old (.*)/;
    (my $old = $1) =~ s/\\n/\n/g;
    open(my $source, "<", $file) or die "$name: $file: $!\n";
    my $text = do { local $/; <$source> };
    my $places = () = $text =~ /\Q$old\E/g;
    ++$mutants;
    next if $places == 1;
    ++$wrong;
    print STDERR "$name: $file has $places places with: $old\n";
  }
  print "$mutants mutants\n";
  exit($wrong || !$mutants ? 1 : 0);'
