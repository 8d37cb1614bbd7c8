import sys, pathlib, time, json
from pathlib import Path
root=Path('/tmp/viewtry'); 
import shutil
if '--make' in sys.argv:
    shutil.rmtree(root, ignore_errors=True)
    from tests.builders_conduct import *
    from tests.builders_suite_run import a_sealed_run
    from tests.builders_review import BOOK as RB
    from esac_ag.conduct.reporting import write_report
    from esac_ag.conduct.suite_results import write_suite_reports
    s=a_runnable_study(root/'a', book=RB); run(s); write_report(folder_of(s).path)
    r=a_sealed_run(root/'b'); r.run(); write_suite_reports(r.folder.path)
    (root/'results').mkdir()
    shutil.copytree(folder_of(s).path, root/'results'/'study-1'); shutil.copytree(r.folder.path, root/'results'/r.folder.path.name)
    (root/'results'/'junk').mkdir()
    s2=a_runnable_study(root/'c'); run(s2, limit=3); shutil.copytree(folder_of(s2).path, root/'results'/'part')
from esac_ag.conduct.view_results import Results
from esac_ag.pages.guard import Secrets
from esac_ag.pages.serving import PageServer
from esac_ag.pages.viewer import Viewer
import httpx
res=Results(root/'results')
with PageServer(Viewer(res).application(), Secrets(), reads_only=True) as s:
    c=httpx.Client(base_url=s.url, trust_env=False)
    for p in sys.argv[1:]:
        if p.startswith('--'): continue
        t=time.time(); a=c.get(p, follow_redirects=True); print(p, a.status_code, round((time.time()-t)*1000,1),'ms', len(a.text)); 
        if '--show' in sys.argv: print(a.text)
res.close()
